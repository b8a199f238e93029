"""Refuse translations that are no plain text, whose scores could not be compared with those of any other system."""

from __future__ import annotations

import re
from collections.abc import Sequence

from triptych.errors import UserError

MARKS = {
    r"▁": ("pieces of a tokenizer ('▁')", "decode them"),
    r"@@(?: |$)": ("pieces of a tokenizer ('@@')", "join them"),
    r" [,.](?= |$)": ("tokenised text (' ,')", "detokenise it"),
    r"&(?:apos|quot|amp|#91|#93|#124);": ("escaped text ('&apos;')", "detokenise it with the tool that made it"),
}
"""What plain text does not have; what it is a sign of; and what to do."""
MANY, FEW = 0.2, 0.02
"""Share of the translations that must have a mark, and share of the references that may, to tell the two apart."""


def require_plain_text(hypotheses: Sequence[str], references: Sequence[str], key: str) -> None:
    """Compare translations with their references, which say what is plain in a corpus.

    Args:
        hypotheses: translations, a line each.
        references: likewise.
        key: of the translations, for the message.

    Raises:
        UserError: many translations have a mark that hardly any reference has.
    """
    for mark, (what, remedy) in MARKS.items():
        found, expected = (_share(mark, lines) for lines in (hypotheses, references))
        if found >= MANY and expected <= FEW:
            raise UserError(f"{key} is {what} in {found:.0%} of its lines, and the references are not; {remedy} first.")


def _share(mark: str, lines: Sequence[str]) -> float:
    return sum(re.search(mark, line) is not None for line in lines) / max(1, len(lines))
