"""How many runs of each arm diverged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from triptych.reports.arm_rows import ArmRow, runs_of
from triptych.reports.grid import Grid
from triptych.reports.statistics.difference import LEVEL
from triptych.reports.statistics.share import Share
from triptych.reports.stored_run import StoredRun
from triptych.reports.table import Table, make_cells
from triptych.runs.convergence import has_diverged

TITLE = "Runs that diverged or learned nothing"
DEFINITION = (
    "A run diverged if its last validation loss is not finite, or not below that of predicting each target piece by "
    "its frequency in the training text."
)
INTERVAL = f"Intervals of shares are Wilson's, at {1 - LEVEL:.0%}."


def diverged(run: StoredRun) -> bool:
    """Return whether a finished run diverged (``runs.convergence.has_diverged``)."""
    result = run.result or {}
    losses = run.curve("loss")["value"]
    unigram = (result.get("train") or {}).get("unigram_loss")
    return bool(result.get("diverged")) or (len(losses) > 0 and has_diverged(float(losses.iloc[-1]), unigram))


def tabulate_diverged(rows: Sequence[ArmRow], grid: Grid | None) -> Table | None:
    """Return the number and the share of diverged runs, None if none diverged.

    Args:
        rows: the arms.
        grid: the grid that they make, if any. Its lines are then those of the table, and its columns stand beside the
            share of the whole line.
    """
    found = {run: diverged(run) for run in runs_of(rows) if run.result}
    if not any(found.values()):
        return None

    def count(arms: Iterable[ArmRow]) -> Share:
        outcomes = [found[run] for arm in arms for run in arm.finished]
        return Share(sum(outcomes), len(outcomes))

    notes = [DEFINITION, INTERVAL]
    if grid is None:
        cells = [[row.label, *_cells(count([row]))] for row in rows]
        return Table(TITLE, make_cells(["arm", "diverged", "share"], cells), notes, rows)
    lines = []
    for group, others in grid.lines:
        arms = [grid.arms[group, others, column] for column in grid.columns]
        lines.append([group, *others, *(str(count([arm])) for arm in arms), *_cells(count(arms))])
    columns = [(grid.column, column) for column in grid.columns]
    header = make_cells([grid.first, *grid.others, *columns, "diverged", "share"], lines)
    return Table(TITLE, header, notes, prose=frozenset(range(1 + len(grid.others))))


def share_of(rows: Sequence[ArmRow], overrides: str) -> Share:
    """Return the share of diverged runs of all arms with some overrides.

    Args:
        rows: the arms.
        overrides: a part of the names of those that count, such as ``model.norm_position=post``.
    """
    chosen = [row for row in rows if {*overrides.split()} <= {*row.arm.split()}]
    outcomes = [diverged(run) for row in chosen for run in row.finished]
    return Share(sum(outcomes), len(outcomes))


def _cells(share: Share) -> list[str]:
    """Return the cells of a share: how many of how many, and the share with its interval."""
    if not share.total:
        return [str(share), str(share)]
    bounds = share.interval()
    return [str(share), f"{share.value:.0%} [{bounds.low:.0%}, {bounds.high:.0%}]"]
