"""Lay out tables for a terminal, so that no word is broken."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from textwrap import wrap

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from triptych.errors import printable
from triptych.reports.table import Table, keep_columns

GAP = 2
"""Blanks between two columns."""
COMFORT = 34
"""Width from which a cell of prose is broken between words before a column is left out."""
NOTES = 100
"""Greatest width of the sentences below a table."""
NO_BREAK = "\u00a0"
"""The blank of Unicode at which a line is not broken."""
WIDER = "a wider terminal shows them"
"""Where columns are that are in no file."""
PIPE = 120
"""Width to which prose is broken where there is no terminal."""


def print_table(table: Table, console: Console, *, whole: bool = False, elsewhere: str = "report.md has them") -> None:
    """Print a table and its sentences.

    A terminal that is too narrow leaves out the table's optional columns, and says so. If that is not enough, intervals
    stand below their estimates, and then the other columns follow in further parts. A pipe or a file has no width, so
    nothing is left out.

    Args:
        table: the table.
        console: where to print it.
        whole: whether to print the optional columns in any case.
        elsewhere: where the columns are that are left out, as a clause.
    """
    table = _printable(table)
    narrow = console.is_terminal or "COLUMNS" in os.environ
    width = console.width if narrow else sys.maxsize
    shown = table if whole else leave_out_optional(table, width)
    if _comfortable(shown) > width:
        shown = _stack_intervals(shown)
    console.print(Text(table.title, style="bold"))
    with _widened(console, min(width, NOTES)):
        for sentence in table.lead:
            console.print(Text(sentence))
    console.print()
    for number, part in enumerate(split(shown, width)):
        if number:
            console.print()
        if _least(part) > width:
            part = _break_signatures(part)
        widths = _fit(part, min(width, max(console.width, PIPE)))
        with _widened(console, _total(widths)):
            console.print(to_rich(part, widths))
    console.print()
    notes = shown.all_notes if console.is_terminal else [note for note in shown.all_notes if note != shown.best_note]
    with _widened(console, min(width, NOTES)):
        for note in [*notes, *_left_out(table, shown, elsewhere)]:
            console.print(Text(note))
    console.print()


def _printable(table: Table) -> Table:
    """Return the table without control characters, which names in somebody else's run may hold."""
    return replace(
        table,
        title=printable(table.title),
        cells=table.cells.map(printable),
        notes=[*map(printable, table.notes)],
        lead=[*map(printable, table.lead)],
    )


@contextmanager
def _widened(console: Console, width: int) -> Iterator[None]:
    """Let a console have a width of its own, so that it breaks and cuts nothing."""
    before = console.width
    console.width = width
    try:
        yield
    finally:
        console.width = before


def leave_out_optional(table: Table, width: int) -> Table:
    """Return the table without as many of its optional columns as a width has no room for."""
    columns = list(range(table.cells.shape[1]))
    for column in table.optional:
        if _comfortable(keep_columns(table, columns)) <= width:
            break
        columns.remove(column)
    return keep_columns(table, columns)


def _stack_intervals(table: Table) -> Table:
    """Return the table with each interval on a line below its estimate."""
    cells = table.cells.map(lambda cell: re.sub(r"(?<=\S) (?=\[[^]]*, [^]]*\]$)", "\n", cell))
    return replace(table, cells=cells)


def _break_signatures(table: Table) -> Table:
    """Return the table with blanks in the signatures of metrics, at which they can be broken."""
    return replace(table, cells=table.cells.map(lambda cell: re.sub(r"\|(?=\S)", "| ", cell)))


def split(table: Table, width: int) -> list[Table]:
    """Return the table in parts that fit a width, each with the first column."""
    parts, kept = [], [0]
    for column in range(1, table.cells.shape[1]):
        if len(kept) > 1 and _least(keep_columns(table, [*kept, column])) > width:
            parts.append(keep_columns(table, kept))
            kept = [0]
        kept.append(column)
    return [*parts, keep_columns(table, kept)]


def to_rich(table: Table, widths: Sequence[int]) -> RichTable:
    """Return a table for a terminal. Cells are ``Text``, so that brackets in a label are not taken for markup.

    Args:
        table: the table.
        widths: of its columns.
    """
    several_lines = any("\n" in cell for cell in table.cells.to_numpy().ravel()) or len(table.prose) > 1
    rich = RichTable(
        box=box.SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), pad_edge=False, show_edge=False, leading=int(several_lines)
    )
    for j, header in enumerate(_headers(table)):
        rich.add_column(
            Text("\n".join(header)),
            justify="left" if j in table.prose else "right",
            vertical="top",
            width=widths[j],
        )
    for i, line in enumerate(table.cells.itertuples(index=False)):
        rich.add_row(*(Text(cell, style="bold" if (i, j) in table.best else "") for j, cell in enumerate(line)))
    return rich


def _headers(table: Table) -> list[list[str]]:
    """Return the lines of each column's header, broken to the width of the column."""
    headers = []
    for j, (upper, name) in enumerate(table.cells.columns):
        words = re.sub(r"(?<=\[95%) (?=interval\])", NO_BREAK, name).split(" ")
        widest = max(map(cell_len, [*_lines(table, j), upper, *words]), default=1)
        lines = wrap(" ".join(words), max(widest, 1), break_long_words=False, break_on_hyphens=False)
        headers.append([*([upper] if upper else []), *(line.replace(NO_BREAK, " ") for line in lines)])
    deepest = max(map(len, headers), default=0)
    return [[""] * (deepest - len(header)) + header for header in headers]


def _lines(table: Table, column: int) -> list[str]:
    """Return the lines of a column's cells."""
    return [line for cell in table.cells.iloc[:, column] for line in cell.splitlines()]


def _widths(table: Table, most: int) -> list[int]:
    """Return the width of each column, where prose is broken to a width."""
    headers, widths = _headers(table), []
    for j, header in enumerate(headers):
        lines = _lines(table, j)
        width = max(map(cell_len, lines), default=0)
        if j in table.prose:
            words = [word for line in lines for word in line.split()]
            width = max([min(width, most), *map(cell_len, words)])
        widths.append(max([width, *map(cell_len, header)]))
    return widths


def _fit(table: Table, width: int) -> list[int]:
    """Return the width of each column in a table of a width. Columns of prose share what the others leave."""
    least, most = _widths(table, 0), _widths(table, sys.maxsize)
    space, wanted = width - _total(least), _total(most) - _total(least)
    if not wanted or wanted <= space:
        return most
    share = max(space, 0) / wanted
    return [low + int((high - low) * share) for low, high in zip(least, most, strict=True)]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _comfortable(table: Table) -> int:
    return _total(_widths(table, COMFORT))


def _least(table: Table) -> int:
    return _total(_widths(table, 0))


def _left_out(table: Table, shown: Table, elsewhere: str) -> list[str]:
    """Return which columns are not shown, as a sentence."""
    names = [
        " ".join(filter(None, column)) for column in table.cells.columns if column not in list(shown.cells.columns)
    ]
    return [f"Left out for lack of space: {', '.join(names)} ({elsewhere})."] if names else []
