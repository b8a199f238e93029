"""Divide the pairs of an epoch into batches, by their lengths alone.

Nothing here needs PyTorch, so a process that only plans starts at once (``planned_epochs.py``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from triptych.errors import UserError

Rows = NDArray[np.integer]
"""(B,) positions in a store of the pairs of one batch."""
Lengths = NDArray[np.integer]
"""(n, 2) number of source and target tokens of each pair, special tokens counted as in ``Batch``."""


def plan_epoch(lengths: Lengths, tokens: int, seed: int, epoch: int) -> list[Rows]:
    """Divide all pairs into the batches of one training epoch, in random order.

    Pairs are sorted by the length of their longer side, then by both lengths, ties in random order, and then cut into
    batches, so that a batch holds pairs of similar length. The number of batches is the same in every epoch, because
    the cuts depend only on the sorted lengths.

    Args:
        lengths: (n, 2) number of source and target tokens, special tokens counted as in ``Batch``.
        tokens: maximum number of padded tokens in a batch on either side, that is, rows times the longest row (the
            papers' "25k source and 25k target tokens").
        seed: seed of the random order.
        epoch: number of the epoch, from 0; each has another order.

    Raises:
        UserError: a single pair is longer than ``tokens``.
    """
    random = np.random.default_rng([seed, epoch])
    shuffled = random.random(len(lengths)).argsort(kind="stable").astype(np.int32)
    batches = _cut_into_batches(_sort_by_length(shuffled, lengths), lengths, tokens)
    return [batches[i] for i in random.permutation(len(batches))]


def plan_sorted(lengths: Lengths, tokens: int) -> list[Rows]:
    """Divide all pairs into batches without randomness, longest pairs first, for validation and for search.

    Args:
        lengths: as for ``plan_epoch``; ``tokens`` likewise.

    Raises:
        UserError: a single pair is longer than ``tokens``.
    """
    return _cut_into_batches(_sort_by_length(np.arange(len(lengths), dtype=np.int32), lengths), lengths, tokens)


def _sort_by_length(order: Rows, lengths: Lengths) -> Rows:
    """Sort pairs from long to short; pairs of equal lengths come in the reverse of the given order.

    Two stable sorts, by the shorter and then by the longer side. NumPy has a radix sort for the 16-bit keys.
    """
    for key in (lengths.min(1), lengths.max(1)):
        narrow = key.astype(np.uint16) if key.max(initial=0) < 2**16 else key
        order = order[narrow[order].argsort(kind="stable")]
    return order[::-1]


def _cut_into_batches(order: Rows, lengths: Lengths, tokens: int) -> list[Rows]:
    """Cut pairs, sorted from long to short, into batches. The first pair of a batch decides how many fit."""
    longest = lengths.max(1)[order]
    if len(order) and longest[0] > tokens:
        raise UserError(
            f"batch.tokens={tokens} is less than the {longest[0]} tokens of the longest pair; raise batch.tokens, or"
            " lower data.max_length if it is a training pair."
        )
    batches, start = [], 0
    while start < len(order):
        end = start + tokens // int(longest[start])
        batches.append(order[start:end])
        start = end
    return batches
