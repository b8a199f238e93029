"""A table of a report as text, which each format lays out in its own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from triptych.reports.arm_rows import ArmRow
from triptych.reports.stored_run import StoredRun

MISSING = "–"
"""What stands for a figure that was not measured."""


@dataclass(frozen=True)
class Table:
    """A table, ready for any format.

    Attributes:
        title: the heading.
        cells: text, with columns (upper header, header). The first column labels the line.
        notes: sentences below the table, a line each.
        rows: the arms of its first lines, in order. Lines after those have no run.
        best: positions (line, column) of the cells in bold.
        lead: sentences above the table: what it shows at a glance.
        prose: columns whose cells may be broken between words where space is short.
        optional: columns that a narrow terminal leaves out, the first to go first.
        legend: a sentence about a column, by position, for a format that shows the column.
        best_note: what bold means, for a format that has it.
        links: the run that a cell leads to, by position.
    """

    title: str
    cells: pd.DataFrame
    notes: Sequence[str] = ()
    rows: Sequence[ArmRow] = ()
    best: frozenset[tuple[int, int]] = frozenset()
    lead: Sequence[str] = ()
    prose: frozenset[int] = frozenset({0})
    optional: Sequence[int] = ()
    legend: Mapping[int, str] = field(default_factory=dict)
    best_note: str = ""
    links: Mapping[tuple[int, int], StoredRun] = field(default_factory=dict)

    @property
    def all_notes(self) -> list[str]:
        """Every sentence below the table."""
        return [*self.notes, *self.legend.values(), *([self.best_note] if self.best and self.best_note else [])]


def show_signed(value: float, decimals: int) -> str:
    """Return a number with its sign, as tables show it."""
    return f"{value:+.{decimals}f}".replace("-", "−")


def make_cells(header: Sequence[str | tuple[str, str]], lines: Sequence[Sequence[str]]) -> pd.DataFrame:
    """Return the cells of a table.

    Args:
        header: of each column, with its upper header if it has one.
        lines: the cells of each line.
    """
    names = [("", name) if isinstance(name, str) else name for name in header]
    return pd.DataFrame([list(line) for line in lines], columns=pd.MultiIndex.from_tuples(names), dtype=object)


def keep_columns(table: Table, kept: Sequence[int]) -> Table:
    """Return a table with some of its columns.

    Args:
        table: the table.
        kept: positions of its columns, in order, the first among them.
    """
    place = {old: new for new, old in enumerate(kept)}
    return Table(
        title=table.title,
        cells=table.cells.iloc[:, list(kept)],
        notes=table.notes,
        lead=table.lead,
        legend={place[j]: note for j, note in table.legend.items() if j in place},
        best_note=table.best_note,
        rows=table.rows,
        best=frozenset((i, place[j]) for i, j in table.best if j in place),
        prose=frozenset(place[j] for j in table.prose if j in place),
        optional=[place[j] for j in table.optional if j in place],
        links={(i, place[j]): run for (i, j), run in table.links.items() if j in place},
    )
