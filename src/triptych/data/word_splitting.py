"""Text as words and punctuation marks, for ``tokenizer=word``, and back.

A mark (Unicode's categories P and S) is a token of its own, so *dog* and *dog.* share the word *dog*. ``￭`` (U+FFED) on
a side of a mark says that no space was there: ``(l'eau.)`` becomes ``(￭ l ￭'￭ eau ￭. ￭)``. Words carry no ``￭``, so a
word has one entry in the vocabulary, whatever stands beside it.

``join(split(text))`` is the text with single spaces between its words, unless the text itself contains ``￭``, or ``▁``,
SentencePiece's symbol for a space.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import groupby

JOINER = "￭"
UNKNOWN = "⁇"
"""What stands for an unknown word or mark in decoded text."""


def split(text: str) -> list[str]:
    """Return the words and marks of a text; a text without any gives an empty list."""
    return [token for part in text.replace("▁", " ").split() for token in _split_part(part)]


def _split_part(part: str) -> list[str]:
    """Return the words and marks of a part without white space."""
    runs = [(mark, "".join(run)) for mark, run in groupby(part, _is_mark)]
    tokens: list[str] = []
    for mark, run in runs:
        if not mark:
            tokens.append(run)
            continue
        marks = [JOINER + one for one in run]
        if not tokens:
            marks[0] = run[0]
        tokens += marks
        tokens[-1] += JOINER
    if runs[-1][0]:
        tokens[-1] = tokens[-1].removesuffix(JOINER)
    return tokens


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def join(tokens: Iterable[str]) -> str:
    """Return the text of words and marks."""
    return re.sub(f" ?{JOINER} ?", "", " ".join(tokens))
