"""Tables of one evaluation: BLEU by length, and contrastive suites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from triptych.reports.statistics.share import Share
from triptych.reports.table import Table, make_cells

SUITE_NOTES = (
    "Share of items whose right translation is likelier than the wrong one; the interval is over items.",
    "Chance is 50%.",
)


def length_table(ranges: Sequence[Mapping[str, Any]]) -> Table:
    """Return BLEU of the ranges of source length that have sentences: ``by_length`` of result.json."""
    found = [row for row in ranges if row["sentences"]]
    rows = [[row["label"], f"{row['sentences']:,}", f"{row['bleu']:.2f}"] for row in found]
    return Table("BLEU by source length", make_cells(["words", "sentences", "BLEU"], rows))


def suite_table(suites: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return the share of right items of each suite: ``suites`` of result.json."""
    rows = []
    for name, scores in suites.items():
        detail = ", ".join(f"{kind} {one['right']} of {one['items']}" for kind, one in scores["by_kind"].items())
        within = Share(scores["right"], scores["items"]).interval()
        shown = f"{100 * scores['accuracy']:.1f} [{100 * within.low:.1f}, {100 * within.high:.1f}]"
        rows.append([name, shown, detail])
    cells = make_cells(["suite", "right (%) [95% interval]", "kinds"], rows)
    return Table("Contrastive suites", cells, SUITE_NOTES, prose=frozenset({0, 2}), optional=[2])
