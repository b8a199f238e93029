"""Contrastive items: a source, its translation, and a translation with one mistake (Sennrich 2017, LingEval97).

A model solves an item if it finds the right translation likelier than the wrong one. Chance is a half.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

SUITES = "suites"
"""Name that stands for all suites of a corpus where a split is named."""


@dataclass(frozen=True)
class ContrastiveItem:
    """A source with a right and a wrong translation.

    Attributes:
        kind: group of items in its suite, such as ``singular``.
        source: source line.
        right: its translation.
        wrong: a translation that differs from the right one only in what its suite tests.
    """

    kind: str
    source: str
    right: str
    wrong: str


def items_digest(items: Sequence[ContrastiveItem]) -> str:
    """Return a hash of the text of items, as 16 hexadecimal digits. Scores of one suite compare if it is equal."""
    text = "\n".join(line for item in items for line in (item.source, item.right, item.wrong))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
