"""The batches of a training whose text is not at hand, by assumed lengths of its sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from triptych.data.assumed_lengths import lengths_of_pairs
from triptych.data.batching import Stream
from triptych.data.store import SPECIAL_TOKENS
from triptych.errors import UserError

SAMPLE = 100_000
"""Pairs that stand for all: so many that batches of few sentences, at the ends of a length, hardly count."""
PIECES_A_WORD = {"char": 6.0, "word": 1.0}
"""Pieces of a word, with its space, by the tokenizer's algorithm; others cut a word into ``SUBWORDS``."""
SUBWORDS = 1.2


class AssumedStream(Stream):
    """A stream over a sample of pairs, with as many steps in an epoch as all pairs have.

    Args:
        pairs: of lines in the training text.
        algorithm: of the tokenizer.
        longest: most pieces of a side in training, longer pairs are dropped; None for no limit.
        joined: how many lines are joined to a pair, each number as often as the others.
        tokens: as for ``Stream``; ``seed`` and ``size`` likewise.

    Attributes:
        step_tokens: mean number of source and target tokens of an optimizer step.

    Raises:
        UserError: no pair is short enough.
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
        most = min(tokens - int(SPECIAL_TOKENS.max()), math.inf if longest is None else longest)
        kept = pieces[pieces.max(1) <= most]
        if not len(kept):
            raise UserError(f"no pair of the assumed text has at most {most} pieces; raise data.max_length.")
        super().__init__(kept + SPECIAL_TOKENS, tokens=tokens, seed=seed, size=size)
        steps_of_sample = len(self._epochs.batches(0)) / size
        self.epoch_steps = math.ceil(pairs / float(np.mean(joined)) / len(words) * steps_of_sample)
        self.step_tokens = int((self.lengths - 1).sum()) / steps_of_sample

    def steps_for(self, tokens: int) -> int:
        return math.ceil(tokens / self.step_tokens)
