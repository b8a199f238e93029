"""Paired approximate randomisation (Riezler and Maxwell 2005): whether two sets of translations are exchangeable.

The test is conditional on the trained models. It says nothing of what other seeds would give.
"""

from __future__ import annotations

import os

import numpy as np

from triptych.errors import UserError
from triptych.evaluation.bleu_statistics import corpus_bleu

TRIALS = 10_000
"""Number of random exchanges."""
ROUNDING = 1e-9
"""Largest rounding error of a difference, in BLEU points: two that are closer are equal."""
TRIALS_AT_ONCE = 1000
"""Exchanges that are drawn and summed together, which bounds the memory."""
EXACT_IN_SINGLE = 2**24
"""Integers below it are exact in single precision, so that sums of counts may be computed there, twice as fast."""


def randomized_p(ours: np.ndarray, theirs: np.ndarray, trials: int, seed: int | None) -> float:
    """Return the two-sided p of the difference in BLEU of two arms, each the mean over its seeds.

    A sentence is one observation, however many seeds translated it: its translations by all seeds change sides
    together. Exchanges that tie with the observed difference count as chance, as in an exact test. sacreBLEU leaves
    them out, which matters only where few sentences differ.

    Args:
        ours: ``bleu_statistics`` of one arm, (seeds, sentences, statistics).
        theirs: those of the other arm, the same seeds in the same order.
        trials: the number of random exchanges.
        seed: the seed of the random generator; None for a different one each time.
    """
    seeds, sentences, statistics = ours.shape
    generator = np.random.default_rng(seed)
    change = (theirs - ours).transpose(1, 0, 2).reshape(sentences, seeds * statistics)
    precision = np.float32 if np.abs(change).sum(axis=0).max() < EXACT_IN_SINGLE else np.float64
    change = change.astype(precision)
    our_sums, their_sums = ours.sum(axis=1), theirs.sum(axis=1)
    observed = abs((corpus_bleu(our_sums) - corpus_bleu(their_sums)).mean())
    extreme = 0
    for start in range(0, trials, TRIALS_AT_ONCE):
        exchanged = generator.integers(2, size=(min(TRIALS_AT_ONCE, trials - start), sentences), dtype=bool)
        moved = (exchanged.astype(precision) @ change).reshape(-1, seeds, statistics).astype(np.float64)
        by_chance = np.abs((corpus_bleu(our_sums + moved) - corpus_bleu(their_sums - moved)).mean(axis=-1))
        extreme += int(np.count_nonzero(by_chance >= observed - ROUNDING))
    return float((extreme + 1) / (trials + 1))


def random_seed() -> int | None:
    """Return the seed that sacreBLEU takes from the environment's ``SACREBLEU_SEED``; None for ``none`` and for 0.

    Raises:
        UserError: it is not a whole number.
    """
    given = os.environ.get("SACREBLEU_SEED", "12345")
    if given.lower() == "none":
        return None
    if not given.isdecimal():
        raise UserError(f"the environment's SACREBLEU_SEED={given} must be a whole number, or none.")
    return int(given) or None
