"""The table of contrastive suites: the share of items that each arm solves."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.reports.arm_rows import ArmRow, runs_of
from triptych.reports.columns import Column, average_seeds, print_cell
from triptych.reports.statistics.share import Share
from triptych.reports.stored_run import suite_names
from triptych.reports.table import Table, make_cells

NOTE = (
    "Share of items, in percent, whose right translation the model finds likelier than a wrong one that differs in "
    "what the suite tests. Chance is 50."
)
INTERVAL = "In brackets: the 95% interval over items (Wilson), of one training."


def suites(rows: Sequence[ArmRow]) -> Table | None:
    """Return the accuracy of each arm in each suite; None if no run has scored any.

    An arm of several seeds has their mean and standard deviation, one of a single seed the interval over items.
    """
    names = suite_names(runs_of(rows))
    if not names:
        return None
    lines = average_seeds(rows).to_dict("records")
    cells = [
        [row.label, *(_accuracy(row, line, name) for name in names)] for row, line in zip(rows, lines, strict=True)
    ]
    counts = dict.fromkeys(run.suites[name]["items"] for run in runs_of(rows) for name in names if name in run.suites)
    notes = [f"{NOTE} {' or '.join(f'{count:,}' for count in counts)} items a suite."]
    if any("[" in cell for _, *accuracies in cells for cell in accuracies):
        notes.append(INTERVAL)
    header = make_cells(["arm", *(name.replace("_", " ") for name in names)], cells)
    return Table("Contrastive suites", header, notes, rows=rows)


def _accuracy(row: ArmRow, line: dict[str, float], name: str) -> str:
    text = print_cell(line, Column(f"suites/{name}", name, ".1f", scale=0.01))
    scored = [run.suites[name] for run in row.finished if name in run.suites]
    if len(scored) != 1:
        return text
    within = Share(scored[0]["right"], scored[0]["items"]).interval()
    return f"{text} [{100 * within.low:.1f}, {100 * within.high:.1f}]"
