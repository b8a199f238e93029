"""The likelihood of references, as files hold it, and its means. Apart from its computation, which imports torch."""

from __future__ import annotations

from collections.abc import Sequence

DECIMALS = 4
"""Decimals of a stored value in nats. Means are computed of the stored values, so that they can be checked."""


def nats_lines(nats: Sequence[float]) -> list[str]:
    """Return the negative log-likelihoods of sentences as the lines of a file, which read as the same numbers."""
    return [f"{value:.{DECIMALS}f}" for value in nats]


def mean_nats(nats: Sequence[float] | None, references: Sequence[str]) -> dict[str, float | None]:
    """Return the means of ``sentence_nats``; None where it is None.

    Words are what whitespace separates, so that models with different tokenizers are divided by the same number. The
    likelihood includes ``</s>``; the number of words does not.

    Returns:
        ``nats_per_sentence``, the mean over sentences, and ``nats_per_word``, the sum over sentences divided by the
        number of words of all references. Lower is better.
    """
    if nats is None:
        return {"nats_per_sentence": None, "nats_per_word": None}
    words = sum(len(line.split()) for line in references)
    return {"nats_per_sentence": sum(nats) / len(nats), "nats_per_word": sum(nats) / max(1, words)}
