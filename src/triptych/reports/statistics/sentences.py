"""How much a score would change if the test set had other sentences of the same kind.

Shapes: R resamples, N sentences, K seeds, C counts of a sentence.
"""

from __future__ import annotations

import numpy as np

from triptych.evaluation.bleu_statistics import corpus_bleu

RESAMPLES = 2000
"""Test sets that are drawn from the given one, with replacement. Their variance has a standard error of 3%."""


def draw_resamples(sentences: int, resamples: int, seed: int | None) -> np.ndarray:
    """Return how often each sentence is in each resample, (R, N). All arms must share it, so that they are paired.

    Args:
        sentences: N.
        resamples: R.
        seed: the seed of the random generator; None for a different one each time.
    """
    generator = np.random.default_rng(seed)
    return generator.multinomial(sentences, np.full(sentences, 1 / sentences), size=resamples).astype(np.float64)


def bootstrap_bleu(counts: np.ndarray, resampled: np.ndarray) -> np.ndarray:
    """Return the BLEU of each seed on each resample (Koehn 2004), (R, K).

    Args:
        counts: ``bleu_statistics`` of each seed, (K, N, C).
        resampled: ``draw_resamples``, (R, N).
    """
    seeds, sentences, size = counts.shape
    sums = resampled @ counts.transpose(1, 0, 2).reshape(sentences, seeds * size)
    return corpus_bleu(sums.reshape(-1, seeds, size))
