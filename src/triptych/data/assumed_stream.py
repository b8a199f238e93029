"""The batches of a training whose text is not at hand, by assumed lengths of its sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from triptych.data.assumed_lengths import lengths_of_pairs
from triptych.data.batching import Stream
from triptych.data.store import SPECIAL_TOKENS

SAMPLE = 20_000
"""Pairs that stand for all."""
PIECES_A_WORD = {"char": 6.0, "word": 1.0}
"""Pieces of a word, with its space, by the tokenizer's algorithm; others cut a word into ``SUBWORDS``."""
SUBWORDS = 1.2


class AssumedStream(Stream):
    """A stream over a sample of pairs, with as many steps in an epoch as all pairs have.

    Args:
        pairs: of the training split.
        algorithm: of the tokenizer.
        longest: most pieces of a side in training; None for no limit.
        joined: how many sentences a pair may have, each as often as the others.
        tokens: as for ``Stream``; ``seed`` and ``size`` likewise.
    """

    def __init__(
        self,
        pairs: int,
        *,
        algorithm: str,
        longest: int | None,
        joined: Sequence[int],
        tokens: int,
        seed: int,
        size: int,
    ) -> None:
        words = lengths_of_pairs(min(pairs, SAMPLE))
        times = np.array(joined)[np.arange(len(words)) % len(joined)]
        pieces = np.ceil(words * times[:, None] * PIECES_A_WORD.get(algorithm, SUBWORDS)).astype(np.int32)
        kept = pieces.max(1) <= min(tokens - 2, tokens if longest is None else longest)
        super().__init__(pieces[kept] + SPECIAL_TOKENS, tokens=tokens, seed=seed, size=size)
        self.steps_of_sample = len(self._epochs.batches(0)) / size
        self.epoch_steps = math.ceil(pairs / len(words) * self.steps_of_sample)

    def steps_for(self, tokens: int) -> int:
        return math.ceil(tokens * self.steps_of_sample / self.tokens_of(np.arange(len(self.lengths))).sum())
