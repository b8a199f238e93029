"""Subword sampling: another segmentation of the training text for every batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triptych.contract.vocabulary import SIDES
from triptych.data.batching import Lengths, Rows
from triptych.data.pairs import Pairs
from triptych.data.ragged_array import RaggedArray
from triptych.data.store import Store
from triptych.data.tokenizer import Tokenizer

SAMPLED_PAIRS = 10_000
"""Number of pairs that are segmented once in advance to estimate the length of sampled text."""


class SubwordSampler:
    """Draw new segmentations of training pairs (see ``Tokenizer.sample``).

    Attributes:
        growth: (2,) number of sampled pieces per stored piece on each side, estimated on ``SAMPLED_PAIRS`` pairs.
    """

    def __init__(self, tokenizer: Tokenizer, pairs: Pairs, store: Store) -> None:
        self.tokenizer = tokenizer
        self.pairs = pairs
        self._max_length = store.max_length or np.inf
        rows = np.linspace(0, len(store) - 1, min(len(store), SAMPLED_PAIRS)).astype(np.int64)
        stored = [store.rows(rows, side) for side in SIDES]
        sampled = self(stored, store.index[rows], seed=0)
        self.growth = np.array([len(new.flat) / len(old.flat) for new, old in zip(sampled, stored, strict=True)])

    def __call__(self, stored: Sequence[RaggedArray], index: Rows, seed: int) -> list[RaggedArray]:
        """Return new ids of both sides of some pairs, determined by ``seed``.

        A line whose new segmentation is longer than ``Store.max_length`` keeps its stored ids.

        Args:
            stored: stored ids of both sides.
            index: (B,) positions of the pairs in the corpus.
            seed: seed of the segmentations.
        """
        seeds = np.random.SeedSequence(seed).generate_state(len(SIDES)).tolist()
        return [self._sample_side(*each, index) for each in zip(stored, SIDES, seeds, strict=True)]

    def _sample_side(self, stored: RaggedArray, side: str, seed: int, index: Rows) -> RaggedArray:
        lines = self.pairs[SIDES.index(side)]
        sampled = self.tokenizer.sample([lines[i] for i in index], side, seed)
        rows = [old if len(new) > self._max_length else new for old, new in zip(stored.rows(), sampled, strict=True)]
        return RaggedArray(np.concatenate(rows).astype(stored.flat.dtype), np.array([len(row) for row in rows]))

    def expected_lengths(self, pieces: Lengths) -> Lengths:
        """Estimate the number of sampled pieces from (n, 2) numbers of stored pieces."""
        return np.minimum(np.rint(pieces * self.growth), self._max_length).astype(pieces.dtype)
