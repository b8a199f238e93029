"""Write tables as Markdown and as CSV. The terminal, LaTeX and HTML have modules of their own."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pandas as pd

from triptych.reports.arm_rows import ArmRow
from triptych.reports.columns import average_seeds
from triptych.reports.published import Published
from triptych.reports.table import Table

PUBLISHED = "published"
"""What the columns of published figures begin with in a CSV file."""


def spans(header: pd.MultiIndex) -> list[tuple[str, int]]:
    """Return the upper line of a header: each name in it, and the number of columns that it spans."""
    return [(name, len(list(group))) for name, group in groupby(header, key=lambda pair: pair[0])]


def to_markdown(tables: Sequence[Table], home: Path) -> str:
    """Return Markdown with the title, the table and the sentences of each table.

    Args:
        tables: the tables, in order.
        home: the folder of the page, which the links to runs start from.
    """
    parts = []
    for table in tables:
        notes = "".join(f"- {_prose(note)}\n" for note in table.all_notes)
        parts.append(f"## {markdown_cell(table.title)}\n\n{to_markdown_block(table, home)}\n{notes}")
    return "\n".join(parts)


def to_markdown_block(table: Table, home: Path | None = None) -> str:
    """Return the lead and the lines of a table as Markdown, without its title and notes.

    Args:
        table: the table.
        home: the folder of the page, which the links to runs start from; None for a table without links.
    """
    return "".join(f"{_prose(sentence)}\n\n" for sentence in table.lead) + to_markdown_cells(table, home)


def to_markdown_cells(table: Table, home: Path | None = None) -> str:
    """Return the lines of a table as Markdown.

    Args:
        table: the table.
        home: the folder of the page, which the links to runs start from; None for a table without links.
    """
    headers = [markdown_cell(f"{span} {header}".strip()) for span, header in table.cells.columns]
    lines = [headers, ["---" if j in table.prose else "---:" for j in range(len(headers))]]
    for i, line in enumerate(table.cells.itertuples(index=False)):
        cells = [
            f"**{markdown_cell(cell)}**" if (i, j) in table.best else markdown_cell(cell) for j, cell in enumerate(line)
        ]
        if home is not None:
            linked = {j: run for (at, j), run in table.links.items() if at == i}
            cells = [f"[{cell}]({linked[j].link(home)})" if j in linked else cell for j, cell in enumerate(cells)]
        lines.append(cells)
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
    frame["arm"] = arms + others
    frame["seeds"] = frame["seeds"].fillna(0).astype(int)
    for name, figures in zip(published.header, zip(*map(published.beside, [*arms, *others]), strict=True), strict=True):
        frame[f"{PUBLISHED}/{name}"] = figures
    return frame


def _prose(text: str) -> str:
    """Escape what Markdown would take for markup outside a table."""
    return _escaped(text, "\\[]*`")


def markdown_cell(text: str) -> str:
    """Escape what Markdown would take for markup in a cell."""
    return _escaped(text, "\\|[]*`")


def _escaped(text: str, characters: str) -> str:
    """Put a backslash before characters. &, < and > are written as HTML has them: Python-Markdown keeps a backslash."""
    return re.sub(f"([{re.escape(characters)}])", r"\\\1", html.escape(text, quote=False))
