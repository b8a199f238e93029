"""What may be translated: lines of text."""

from __future__ import annotations

from collections.abc import Iterable

from triptych.errors import UserError, one_line


def as_list(lines: Iterable[str]) -> list[str]:
    """Return lines as a list.

    Raises:
        UserError: a single string, which would be taken for a list of its characters; or what is no line of text.
    """
    if isinstance(lines, str):
        raise UserError(f"the lines must be a list, not one string; give [{lines[:30]!r}].")
    lines = list(lines)
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise UserError(f"line {number} is {one_line(repr(line))}, and no text; give strings.")
        if "\n" in line:
            raise UserError(f"line {number} has a line break ({one_line(line[:30])} …); give its lines one by one.")
        if not line.isascii() and any("\ud800" <= letter <= "\udfff" for letter in line):
            raise UserError(f"line {number} has half a character (a lone surrogate); give valid Unicode.")
    return lines


def without_line_breaks(text: str) -> str:
    """Return a translation with spaces for line breaks, which byte fallback can generate."""
    return " ".join(text.splitlines())
