"""Subword sampling: another segmentation of the training text for every batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from triptych.contract.vocabulary import SIDES
from triptych.data.epoch_plan import Lengths, Rows
from triptych.data.pairs import Pairs
from triptych.data.ragged_array import RaggedArray
from triptych.data.store import Store
from triptych.data.tokenizer import Tokenizer

SAMPLED_PAIRS = 10_000
"""Number of pairs that are segmented once in advance to estimate the length of sampled text."""
DEVIATIONS = 3
"""Standard deviations from the expected length of a line to its longest allowed: about one line in 100 is longer, and
keeps its stored pieces."""


class SubwordSampler:
    """Draw new segmentations of training pairs (see ``Tokenizer.sample``).

    Attributes:
        growth: (2,) number of sampled pieces per stored piece on each side, estimated on ``SAMPLED_PAIRS`` pairs.
        variance: (2,) variance of a line's number of sampled pieces, per stored piece, estimated likewise.
    """

    def __init__(self, tokenizer: Tokenizer, pairs: Pairs, store: Store) -> None:
        self.tokenizer = tokenizer
        self.pairs = pairs
        self._max_length = store.max_length or np.inf
        rows = np.linspace(0, len(store) - 1, min(len(store), SAMPLED_PAIRS)).astype(np.int64)
        stored = [store.rows(rows, side) for side in SIDES]
        self.growth, self.variance = np.ones(len(SIDES)), np.full(len(SIDES), np.inf)  # no limit while they are unknown
        sampled = self(stored, store.index[rows], seed=0)
        pieces = [np.stack([one.lengths for one in both], axis=1) for both in (stored, sampled)]
        self.growth = pieces[1].sum(0) / pieces[0].sum(0)
        self.variance = ((pieces[1] - pieces[0] * self.growth) ** 2).sum(0) / pieces[0].sum(0)

    def __call__(self, stored: Sequence[RaggedArray], index: Rows, seed: int) -> list[RaggedArray]:
        """Return new ids of both sides of some pairs, determined by ``seed``.

        A line whose new segmentation is longer than ``longest_lengths`` keeps its stored ids, so that every batch keeps
        to the token budget.

        Args:
            stored: stored ids of both sides.
            index: (B,) positions of the pairs in the corpus.
            seed: seed of the segmentations.
        """
        seeds = np.random.SeedSequence(seed).generate_state(len(SIDES)).tolist()
        longest = self.longest_lengths(np.stack([side.lengths for side in stored], axis=1)).T
        return [self._sample_side(*each, index) for each in zip(stored, SIDES, seeds, longest, strict=True)]

    def _sample_side(
        self, stored: RaggedArray, side: str, seed: int, longest: NDArray[np.integer], index: Rows
    ) -> RaggedArray:
        lines = self.pairs[SIDES.index(side)]
        sampled = self.tokenizer.sample([lines[i] for i in index], side, seed)
        rows = [
            old if len(new) > limit else new for old, new, limit in zip(stored.rows(), sampled, longest, strict=True)
        ]
        return RaggedArray(np.concatenate(rows).astype(stored.flat.dtype), np.array([len(row) for row in rows]))

    def expected_lengths(self, pieces: Lengths) -> Lengths:
        """Estimate the number of sampled pieces from (n, 2) numbers of stored pieces."""
        return np.minimum(np.rint(pieces * self.growth), self._max_length).astype(pieces.dtype)

    def longest_lengths(self, pieces: Lengths) -> Lengths:
        """Return the largest number of sampled pieces that lines of (n, 2) stored pieces may have."""
        with np.errstate(invalid="ignore"):  # an empty line times no limit
            longest = np.floor(pieces * self.growth + DEVIATIONS * np.sqrt(pieces * self.variance))
        # Floats reach the largest number of 32 bits, and not that of 64.
        largest = min(np.iinfo(pieces.dtype).max, np.iinfo(np.int32).max)
        allowed = np.minimum(np.nan_to_num(longest), min(self._max_length, largest))
        return np.maximum(allowed, pieces).astype(pieces.dtype)
