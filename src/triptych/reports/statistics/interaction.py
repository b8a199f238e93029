"""How much a difference of differences would change with other test sentences: two arms on two test sets.

The difference of two arms on one test set is compared with their difference on another, its baseline. Test sets that
hold the same text, cut into sentences in two ways, are no independent samples: what is hard to translate is in both.
They are paired by blocks, the shortest stretches of text that consist of whole sentences in both. Other test sets count
as independent samples, whose variances are added.

Shapes: N sentences, B blocks, K seeds, C counts of a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from triptych.reports.statistics.sentences import RESAMPLES, bootstrap_bleu, draw_resamples

Floats = NDArray[np.float64]
Blocks = NDArray[np.int64]


def common_blocks(first: Sequence[str], second: Sequence[str]) -> tuple[Blocks, Blocks] | None:
    """Return the number of the block of each sentence of two test sets, (N,) each, ascending from 0.

    Args:
        first: the sentences of a test set; ``second`` likewise.

    Returns:
        None if the test sets hold other words, or the same words in another order.
    """
    words = [[line.split() for line in lines] for lines in (first, second)]
    flat = [[word for line in lines for word in line] for lines in words]
    if not flat[0] or flat[0] != flat[1]:
        return None
    ends, other_ends = (np.cumsum([len(line) for line in lines]) for lines in words)
    common = np.intersect1d(ends, other_ends)
    return np.searchsorted(common, ends), np.searchsorted(common, other_ends)


def sum_blocks(values: Floats, blocks: Blocks) -> Floats:
    """Return the sum over the sentences of each block, (B, ...).

    Args:
        values: of each sentence, (N, ...).
        blocks: number of the block of each sentence, (N,), ascending from 0 without gaps.
    """
    return np.add.reduceat(values, np.searchsorted(blocks, np.arange(blocks[-1] + 1)), axis=0)


def deviations(ours: Floats, theirs: Floats, sizes: Floats) -> Floats:
    """Return what each sentence adds to the error of the difference of two ratios, (N,).

    A ratio is the sum of an arm's values over the sum of the sizes. Its error is linear in the sentences' deviations
    for all but very small samples (Cochran 1977, *Sampling Techniques*, chapter 6). Deviations add up to 0;
    ``variance_of_sum`` gives the variance of the difference.

    Args:
        ours: a value for each sentence, the mean over the seeds of one arm, (N,).
        theirs: those of the other arm, (N,).
        sizes: what a sentence counts for, such as its words, or 1 for a mean over sentences, (N,).
    """
    differences, total = ours - theirs, sizes.sum()
    return (differences - differences.sum() / total * sizes) / total


def variance_of_sum(deviations: Floats) -> float:
    """Return the variance of the sum of deviations of independent sentences or blocks; 0 of a single one."""
    count = len(deviations)
    return float((deviations**2).sum() * count / (count - 1)) if count > 1 else 0.0


def bleu_interaction_variance(first: Sequence[Floats], second: Sequence[Floats], seed: int | None) -> float:
    """Return the variance of a difference of differences in BLEU, by a bootstrap over blocks (Koehn 2004).

    Args:
        first: the counts of one test set's blocks (``sum_blocks``) for each of the two arms, (K, B, C) each.
        second: those of the other test set.
        seed: the seed of the random generator.
    """
    resampled = draw_resamples(first[0].shape[1], RESAMPLES, seed)
    (ours, theirs), (our_base, their_base) = (
        [bootstrap_bleu(counts, resampled).mean(axis=1) for counts in arms] for arms in (first, second)
    )
    return float(np.var((ours - theirs) - (our_base - their_base), ddof=1))
