"""Text within the width of the terminal or of COLUMNS: sentences, and names beside what is said of them."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from collections.abc import Iterable
from typing import TextIO

from triptych.errors import printable

WIDEST = 100
"""Most columns of text: longer lines are hard to read."""
WIDEST_NAME = 30
"""Most columns of a name that its description stands beside; what is said of a longer one stands below it."""


def text_width() -> int:
    """Return the columns of the terminal, or of COLUMNS; 80 where neither says."""
    return min(shutil.get_terminal_size().columns, WIDEST)


def wrapped(text: str) -> list[str]:
    """Return a text in lines that fit."""
    return textwrap.wrap(text, max(text_width(), 40), break_on_hyphens=False)


def in_two_columns(rows: Iterable[tuple[str, str]], indent: int = 2) -> list[str]:
    """Return lines with a name at the left and its description, wrapped, at the right."""
    rows, width = list(rows), max(text_width(), 40)
    column = indent + min(max((len(name) for name, _ in rows), default=0), min(WIDEST_NAME, width // 2)) + 2
    lines = []
    for name, description in rows:
        first, *others = textwrap.wrap(description, width - column, break_on_hyphens=False) or [""]
        left = f"{' ' * indent}{name}"
        if len(left) + 2 > column and first:
            lines.append(left)
            left = ""
        lines.append(f"{left:{column}}{first}".rstrip())
        lines += [f"{' ' * column}{line}" for line in others]
    return lines


def fitted(line: str, width: int | None) -> list[str]:
    """Return a line in parts of at most a width, as far as its words allow; None for any width."""
    line = printable(line)
    if width is None or len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    words = re.sub(r"\|(?=\S)", "| ", line) if max(map(len, line.split()), default=0) > width else line
    return textwrap.wrap(
        words, max(width, 20), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def width_of(stream: TextIO) -> int | None:
    """Return COLUMNS, or the columns of the terminal that the stream is; None for a pipe or a file."""
    if (columns := os.environ.get("COLUMNS", "")).isdigit() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream.isatty() else None
    except (OSError, ValueError):  # a stand-in for a stream
        return None
