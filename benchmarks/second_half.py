"""Time the second half of a training by Lightning's Trainer: compilation and warming up lie in the first."""

from __future__ import annotations

import math
import time
from collections import Counter
from typing import Any

from lightning.pytorch.callbacks import Callback

from benchmarks.stopwatch import Stopwatch
from triptych.contract.batch import Batch

Pairs = Counter[tuple[int, int, bool]]
"""Pairs of sentences, as ``training_flops`` takes them."""


class SecondHalf(Callback):
    """Times the second half of a training by Lightning's Trainer, and waits for the device only at its two ends.

    Attributes:
        pairs: those trained on meanwhile, by their lengths, as ``training_flops`` takes them.
        seconds: that they took; NaN if the training ended before.
    """

    def __init__(self, steps: int, watch: Stopwatch) -> None:
        self.steps, self.watch = steps, watch
        self.pairs, self._began, self.seconds = Pairs(), 0.0, math.nan

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, index: int) -> None:
        if index + 1 > self.steps // 2:
            self.pairs.update(pairs_of(batch))
        if index + 1 in (self.steps // 2, self.steps):
            self.watch.wait()
            now = time.perf_counter()
            self.seconds, self._began = now - self._began, now


def pairs_of(batch: Batch) -> Pairs:
    """Count the pairs of a batch by their lengths, each with its source predicted."""
    return Counter((src, tgt, True) for src, tgt in batch.host_lengths.T.tolist())


def tokens_of(pairs: Pairs) -> int:
    """Count source and target tokens, without those that begin a sentence."""
    return sum((src + tgt - 2) * count for (src, tgt, _), count in pairs.items())
