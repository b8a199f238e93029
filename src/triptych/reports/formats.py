"""Write tables for a terminal, as Markdown and as CSV. LaTeX has a module of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pandas as pd
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from triptych.reports.arm_rows import ArmRow
from triptych.reports.study import Published
from triptych.reports.tables import PUBLISHED, Table, average_seeds


def spans(header: pd.MultiIndex) -> list[tuple[str, int]]:
    """Return the upper line of a header: each name in it, and the number of columns that it spans."""
    return [(name, len(list(group))) for name, group in groupby(header, key=lambda pair: pair[0])]


def to_rich(table: Table) -> RichTable:
    """Return a table for a terminal. Cells are ``Text``, so that brackets in a label are not taken for markup."""
    rich = RichTable(
        title=Text(table.title), caption=Text("\n".join(table.notes)), caption_justify="left", box=box.SIMPLE_HEAVY
    )
    for j, (span, header) in enumerate(table.cells.columns):
        text = "\n".join([span, *header.split()]).strip()
        rich.add_column(Text(text), justify="right" if j else "left", vertical="middle", overflow="fold")
    for i, line in enumerate(table.cells.itertuples(index=False)):
        rich.add_row(*(Text(cell, style="bold" if (i, j) in table.best else "") for j, cell in enumerate(line)))
    return rich


def fit_to_console(table: Table, console: Console) -> tuple[RichTable, int]:
    """Return a table laid out for a console, and the width to print it at.

    On a terminal that is too narrow, the arms become columns. A pipe or a file has no width, so nothing is squeezed.
    """
    whole = to_rich(table)
    needed = Measurement.get(console, console.options.update(width=10_000), whole).maximum
    if needed <= console.width:
        return whole, console.width
    return (to_rich(transposed(table)), console.width) if console.is_terminal else (whole, needed)


def transposed(table: Table) -> Table:
    """Return the table with a column for each arm, for a terminal that is too narrow for a line for each."""
    cells = table.cells
    lines = [[f"{span} {header}".strip(), *cells.iloc[:, j]] for j, (span, header) in enumerate(cells.columns) if j]
    header = [("", ""), *(("", label) for label in cells.iloc[:, 0])]
    best = frozenset((j - 1, i + 1) for i, j in table.best)
    return Table(table.title, pd.DataFrame(lines, columns=pd.MultiIndex.from_tuples(header)), table.notes, best=best)


def to_markdown(tables: Sequence[Table], home: Path) -> str:
    """Return Markdown with the title, the table and the notes of each table.

    Args:
        tables: the tables, in order.
        home: the folder of the page, which the links from labels to runs start from.
    """
    parts = []
    for table in tables:
        notes = "".join(f"- {_escaped(note, '<>*`[]')}\n" for note in table.notes)
        parts.append(f"## {_markdown(table.title)}\n\n{to_markdown_cells(table, home)}\n{notes}")
    return "\n".join(parts)


def to_markdown_cells(table: Table, home: Path) -> str:
    """Return the lines of a table as Markdown, without its title and notes.

    Args:
        table: the table.
        home: the folder of the page, which the links from labels to runs start from.
    """
    headers = [_markdown(f"{span} {header}".strip()) for span, header in table.cells.columns]
    lines = [headers, ["---", *["---:"] * (len(headers) - 1)]]
    for i, line in enumerate(table.cells.itertuples(index=False)):
        cells = [f"**{_markdown(cell)}**" if (i, j) in table.best else _markdown(cell) for j, cell in enumerate(line)]
        lines.append([_linked(cells[0], table.rows[i], home) if i < len(table.rows) else cells[0], *cells[1:]])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def to_frame(rows: Sequence[ArmRow], published: Published) -> pd.DataFrame:
    """Return the figures of all arms in plain units at full precision, then the published figures.

    Returns:
        The columns of ``average_seeds``, then a column of text for each published figure. The arms that are only
        published come last.
    """
    arms = [row.arm for row in rows]
    others = [arm for arm in published.cells if arm not in arms]
    frame = average_seeds(rows).reindex(range(len(rows) + len(others)))
    frame["label"] = [row.label for row in rows] + others
    frame["seeds"] = frame["seeds"].fillna(0).astype(int)
    for name, figures in zip(published.header, zip(*map(published.beside, [*arms, *others]), strict=True), strict=True):
        frame[f"{PUBLISHED}/{name}"] = figures
    return frame


def _linked(text: str, row: ArmRow, home: Path) -> str:
    """Return a label with a link to its run, or, of several runs, with a link from each seed."""
    if len(row.runs) == 1:
        return f"[{text}]({row.runs[0].link(home)})"
    return " · ".join([text, *(f"[{run.seed}]({run.link(home)})" for run in row.runs)])


def _markdown(text: str) -> str:
    """Escape what Markdown would take for markup in a cell."""
    return _escaped(text, "\\|[]<>*`")


def _escaped(text: str, characters: str) -> str:
    return re.sub(f"([{re.escape(characters)}])", r"\\\1", text)
