"""Print within the width of the terminal, or of COLUMNS. Pipes and files get whole lines."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TextIO

from triptych.config.text_columns import fitted, width_of


def print_fitted(text: str, stream: TextIO | None = None) -> None:
    """Print text, whose lines are broken between words where a terminal or COLUMNS is too narrow.

    Args:
        text: one line or several.
        stream: where to; None for standard output.
    """
    stream = sys.stdout if stream is None else stream
    width = width_of(stream)
    lines = [part for line in text.split("\n") for part in fitted(line, width)]
    print("\n".join(lines), file=stream, flush=True)


def show_next(words: Sequence[str], *, of_filter: bool = False) -> None:
    """Show a command on standard error, which no other program reads for what a command computes.

    Args:
        words: of the command.
        of_filter: whether the command before may be part of a pipe. Then it is shown on a terminal alone.
    """
    if of_filter and not sys.stderr.isatty():
        return
    print(f"next: {shlex.join(words)}", file=sys.stderr, flush=True)


def print_rows(title: str, header: list[str], rows: list[list[str]], *notes: str) -> None:
    """Print a small table. If it has notes, its last column is prose, which a narrow terminal leaves out."""
    from rich.console import Console

    from triptych.reports.table import Table, make_cells
    from triptych.reports.terminal import WIDER, print_table

    last = len(header) - 1
    optional, prose = ([last], frozenset({0, last})) if notes else ([], frozenset({0}))
    print_table(
        Table(title, make_cells(header, rows), notes, prose=prose, optional=optional), Console(), elsewhere=WIDER
    )
