"""Figures of translations that need no reference: how much they repeat themselves."""

from __future__ import annotations

from collections.abc import Sequence

REPETITION_ORDER = 4
"""Length of the n-grams that ``repetition_rate`` counts, in words."""


def repetition_rate(translations: Sequence[str]) -> float:
    """Return the mean over sentences of the share of 4-grams that occurred earlier in the same sentence, 0 to 1.

    It is seq-rep-4 of Welleck et al. 2020 (https://arxiv.org/abs/1908.04319, section 6): 1 - distinct n-grams /
    n-grams. Words are what whitespace separates. A sentence of fewer than four words has no 4-grams and counts as 0.

    Raises:
        ValueError: there are no translations.
    """
    if not translations:
        raise ValueError("a repetition rate needs at least one translation")
    return sum(map(_repeated_share, translations)) / len(translations)


def _repeated_share(translation: str) -> float:
    words = translation.split()
    ngrams = [tuple(words[i : i + REPETITION_ORDER]) for i in range(len(words) - REPETITION_ORDER + 1)]
    return 1 - len({*ngrams}) / len(ngrams) if ngrams else 0.0
