"""Random pairs whose lengths are those of WMT'14: speed does not depend on what they say."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch.utils.data import DataLoader

from benchmarks.data import sentence_lengths
from triptych.contract.batch import Batch
from triptych.contract.vocabulary import LanguageTags
from triptych.data.batching import Planned, Sampler, Stream
from triptych.data.datamodule import collate
from triptych.data.ragged_array import Ragged
from triptych.data.store import SPECIAL_TOKENS


class Text(torch.utils.data.Dataset[Batch]):
    """Pairs of random ids whose lengths are those of WMT'14; made as training's are, by planned batches."""

    def __init__(self, pairs: int, vocabulary: int, tokens: int) -> None:
        random = np.random.default_rng(0)
        self.vocabulary = vocabulary
        self.lengths = np.stack([sentence_lengths(random, pairs) for _ in range(2)], axis=1) + SPECIAL_TOKENS
        self.stream = Stream(self.lengths, tokens=tokens, seed=1, size=1)

    def __getitem__(self, planned: Planned) -> Batch:
        random = np.random.default_rng(planned.seed)
        lengths = self.lengths[planned.rows] - SPECIAL_TOKENS
        src, tgt = (Ragged(random.integers(6, self.vocabulary, side.sum()), side) for side in lengths.T)
        index = np.asarray(planned.rows, dtype=np.int64)
        return collate(src, tgt, index, planned.step_tokens, np.array([LanguageTags()] * len(index)))

    def batches(self, steps: int, workers: int) -> Iterator[Batch]:
        sampler = Sampler(self.stream, steps=steps, first_step=0, accumulate=1, rank=0)
        pinned = torch.cuda.is_available()
        return iter(DataLoader(self, sampler=sampler, batch_size=None, num_workers=workers, pin_memory=pinned))
