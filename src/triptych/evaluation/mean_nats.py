"""Means of the likelihood of references. Apart from its computation, so that a report need not import torch."""

from __future__ import annotations

from collections.abc import Sequence


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
