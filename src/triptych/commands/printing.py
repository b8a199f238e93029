"""Print within the width of the terminal, or of COLUMNS. Pipes and files get whole lines."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from triptych.config.text_columns import fitted, width_of
from triptych.errors import printable

if TYPE_CHECKING:
    from triptych.reports.table import Table


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
    sys.stdout.flush()  # nothing is next if the result could not be written
    print(f"next: {printable(shlex.join(words))}", file=sys.stderr, flush=True)


def print_small_table(table: Table) -> None:
    """Print a table that is in no file."""
    from rich.console import Console  # imported late: mistakes do not wait for it

    from triptych.reports.terminal import WIDER, print_table

    print_table(table, Console(), elsewhere=WIDER)
