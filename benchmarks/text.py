"""Make batches of random ids with the sentence lengths of WMT'14. Speed does not depend on the ids."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch.utils.data import DataLoader

from triptych.contract.batch import Batch
from triptych.contract.vocabulary import LanguageTags
from triptych.data.assumed_lengths import lengths_of_pairs
from triptych.data.batching import PlannedBatch, Sampler, Stream
from triptych.data.ragged_array import RaggedArray
from triptych.data.store import SPECIAL_TOKENS
from triptych.data.stored_batches import collate


class Text(torch.utils.data.Dataset[Batch]):
    """Pairs of random ids with the sentence lengths of WMT'14, in batches planned as in training."""

    def __init__(self, pairs: int, vocabulary: int, tokens: int) -> None:
        self.vocabulary = vocabulary
        self.lengths = lengths_of_pairs(pairs) + SPECIAL_TOKENS
        self.stream = Stream(self.lengths, tokens=tokens, seed=1, size=1)

    def __getitem__(self, planned: PlannedBatch) -> Batch:
        random = np.random.default_rng(planned.seed)
        lengths = self.lengths[planned.rows] - SPECIAL_TOKENS
        src, tgt = (RaggedArray(random.integers(6, self.vocabulary, side.sum()), side) for side in lengths.T)
        index = np.asarray(planned.rows, dtype=np.int64)
        return collate(src, tgt, index, planned.step_tokens, np.array([LanguageTags()] * len(index)))

    def batches(self, steps: int, workers: int) -> Iterator[Batch]:
        return iter(self.loader(steps, workers))

    def loader(self, steps: int, workers: int) -> DataLoader[Batch]:
        sampler = Sampler(self.stream, steps=steps, first_step=0, accumulate=1, rank=0)
        pinned = torch.cuda.is_available()
        return DataLoader(self, sampler=sampler, batch_size=None, num_workers=workers, pin_memory=pinned)
