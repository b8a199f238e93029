"""Tables as a terminal, Markdown and other programs read them; LaTeX has a module of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pandas as pd
from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from triptych.reports.rows import Row
from triptych.reports.study import Published
from triptych.reports.tables import PUBLISHED, Table, fold


def spans(header: pd.MultiIndex) -> list[tuple[str, int]]:
    """The upper row of a header: each name in it, and how many columns it spans."""
    return [(name, len(list(group))) for name, group in groupby(header, key=lambda pair: pair[0])]


def to_rich(table: Table) -> RichTable:
    """For a terminal; as ``Text``, so that no bracket in a label is taken for markup."""
    rich = RichTable(
        title=Text(table.title), caption=Text("\n".join(table.notes)), caption_justify="left", box=box.SIMPLE_HEAVY
    )
    for j, (span, header) in enumerate(table.cells.columns):
        text = "\n".join([span, *header.split()]).strip()
        rich.add_column(Text(text), justify="right" if j else "left", vertical="middle", overflow="fold")
    for i, line in enumerate(table.cells.itertuples(index=False)):
        rich.add_row(*(Text(cell, style="bold" if (i, j) in table.best else "") for j, cell in enumerate(line)))
    return rich


def transposed(table: Table) -> Table:
    """A column a model, for a terminal that is too narrow for a line a model."""
    cells = table.cells
    lines = [[f"{span} {header}".strip(), *cells.iloc[:, j]] for j, (span, header) in enumerate(cells.columns) if j]
    header = [("", ""), *(("", label) for label in cells.iloc[:, 0])]
    best = frozenset((j - 1, i + 1) for i, j in table.best)
    return Table(table.title, pd.DataFrame(lines, columns=pd.MultiIndex.from_tuples(header)), table.notes, best=best)


def to_markdown(tables: Sequence[Table], home: Path) -> str:
    """Each title, its table, and its notes as a list; labels lead to their runs from a page that lies in ``home``."""
    parts = []
    for table in tables:
        headers = [_markdown(f"{span} {header}".strip()) for span, header in table.cells.columns]
        lines = [headers, ["---", *["---:"] * (len(headers) - 1)]]
        for i, line in enumerate(table.cells.itertuples(index=False)):
            cells = [
                f"**{_markdown(cell)}**" if (i, j) in table.best else _markdown(cell) for j, cell in enumerate(line)
            ]
            lines.append([_leading(cells[0], table.rows[i], home) if i < len(table.rows) else cells[0], *cells[1:]])
        body = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        notes = "".join(f"- {_escaped(note, '<>*`[]')}\n" for note in table.notes)
        parts.append(f"## {_markdown(table.title)}\n\n{body}\n{notes}")
    return "\n".join(parts)


def to_csv(rows: Sequence[Row], published: Published) -> str:
    """Every figure in its plain unit at full precision, its std and its count beside it, then the published ones."""
    arms = [row.arm for row in rows]
    others = [arm for arm in published.cells if arm not in arms]
    frame = fold(rows).reindex(range(len(rows) + len(others)))
    frame["label"] = [row.label for row in rows] + others
    frame["seeds"] = frame["seeds"].fillna(0).astype(int)
    for name, figures in zip(published.header, zip(*map(published.beside, [*arms, *others]), strict=True), strict=True):
        frame[f"{PUBLISHED}/{name}"] = figures
    return frame.to_csv(index=False)


def _leading(text: str, row: Row, home: Path) -> str:
    """A label that leads to its run, or beside it the seeds of several that lead to theirs."""
    if len(row.runs) == 1:
        return f"[{text}]({row.runs[0].link(home)})"
    return " · ".join([text, *(f"[{run.seed}]({run.link(home)})" for run in row.runs)])


def _markdown(text: str) -> str:
    return _escaped(text, "\\|[]<>*`")


def _escaped(text: str, signs: str) -> str:
    return re.sub(f"([{re.escape(signs)}])", r"\\\1", text)
