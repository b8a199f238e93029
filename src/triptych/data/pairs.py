"""Sentence pairs of a split, and the names of the splits that every corpus has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from triptych.data.directions import Route

TRAIN, VALIDATION = "train", "validation"
"""Names of the two splits that every corpus has; all other splits are test sets."""
TEST = "test"
"""Name of the test set that is held out of the training files."""


class Pairs(NamedTuple):
    """Lines of both sides; ``tgt[i]`` is the translation of ``src[i]``."""

    src: Sequence[str]
    tgt: Sequence[str]


class Section(NamedTuple):
    """Consecutive pairs of a split that are translated in the same way.

    Attributes:
        route: languages from the source to the target.
        size: number of pairs.
    """

    route: Route
    size: int


def target_languages(sections: Sequence[Section]) -> list[str]:
    """Return the target language of each pair."""
    return [route[-1] for route, size in sections for _ in range(size)]
