"""The data module that gives Lightning's trainer its training and validation batches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import lightning
import torch
from torch.utils.data import DataLoader

from triptych.contract.batch import Batch
from triptych.data.batching import PlannedBatch, Sampler, Stream
from triptych.data.corpus import Corpus
from triptych.data.epoch_plan import plan_sorted
from triptych.data.pairs import TRAIN, VALIDATION
from triptych.data.store import SPECIAL_TOKENS, Store
from triptych.data.stored_batches import StoredBatches
from triptych.data.subword_sampling import SubwordSampler
from triptych.data.tokenizer import Tokenizer


class TranslationData(lightning.LightningDataModule):
    """Training batches in the order of the stream (see ``batching.py``) and validation batches sorted by length.

    All of training is one pass over one loader, whatever the number of epochs. Run the trainer with ``max_epochs=1``,
    and with ``use_distributed_sampler=False``, because the stream itself deals the batches to the ranks. Every rank
    validates the whole split, so validation needs no reduction over ranks.

    Args:
        stores: encoded pairs of ``train`` and ``validation``, by split.
        tokenizer: tokenizer of the stores. If it ``samples``, the training text is segmented again for every batch.
        corpus: corpus that the stores were made from.
        batch_tokens: maximum number of padded tokens in a batch on either side.
        accumulate: number of batches of each rank in one optimizer step.
        seed: seed of the order of batches and of subword sampling.
        workers: number of processes that load batches; 0 loads them in the training process.
        ranks: number of devices that train together.
        budget: function from the stream to the number of optimizer steps in the whole training.
        cache: as of a ``Stream``.

    Attributes:
        stream: stream of the whole training.
        total_steps: number of optimizer steps in the whole training.
        first_step: step that training starts at, 0 by default; set it before a fit that resumes from a checkpoint.

    Raises:
        UserError: a single training or validation pair is longer than ``batch_tokens``.
    """

    def __init__(
        self,
        *,
        stores: dict[str, Store],
        tokenizer: Tokenizer,
        corpus: Corpus,
        batch_tokens: int,
        accumulate: int,
        seed: int,
        workers: int,
        ranks: int,
        budget: Callable[[Stream], int],
        cache: Path | None = None,
    ) -> None:
        super().__init__()
        lengths, longest, sampler = stores[TRAIN].lengths, None, None
        if tokenizer.samples:
            sampler, pieces = SubwordSampler(tokenizer, corpus.splits[TRAIN], stores[TRAIN]), lengths - SPECIAL_TOKENS
            lengths = sampler.expected_lengths(pieces) + SPECIAL_TOKENS
            longest = sampler.longest_lengths(pieces) + SPECIAL_TOKENS
        self._train = StoredBatches(stores[TRAIN], sampler)
        self._validation = StoredBatches(stores[VALIDATION])
        self._validation_plan = _plan_validation(stores[VALIDATION], batch_tokens)
        size = ranks * accumulate
        self.stream = Stream(lengths, tokens=batch_tokens, seed=seed, size=size, longest=longest, cache=cache)
        self._accumulate = accumulate
        self._workers = workers
        self.first_step = 0
        self.total_steps = budget(self.stream)

    def train_dataloader(self) -> DataLoader[Batch]:
        """Return a loader of this rank's training batches from ``first_step`` on."""
        sampler = Sampler(
            self.stream,
            steps=self.total_steps,
            first_step=self.first_step,
            accumulate=self._accumulate,
            rank=self.trainer.global_rank if self.trainer else 0,
        )
        return self._loader(self._train, sampler)

    def largest_batches(self) -> list[Batch]:
        """Return the training batches that need most memory (``Stream.largest``)."""
        return [self._train[PlannedBatch(rows, self.stream.tokens_of(rows), seed=0)] for rows in self.stream.largest()]

    def val_dataloader(self) -> DataLoader[Batch]:
        """Return a loader of all validation batches, longest pairs first."""
        return self._loader(self._validation, self._validation_plan)

    def _loader(self, dataset: StoredBatches, planned: Sampler | list[PlannedBatch]) -> DataLoader[Batch]:
        return DataLoader(
            dataset,
            sampler=planned,
            batch_size=None,
            num_workers=self._workers,
            persistent_workers=self._workers > 0,
            pin_memory=self.trainer is not None and self.trainer.strategy.root_device.type == "cuda",
            generator=torch.Generator(),  # by default a loader draws from the global generator, which dropout uses
        )


def _plan_validation(store: Store, tokens: int) -> list[PlannedBatch]:
    """Plan sorted batches. Each counts as an optimizer step of its own, so ``step_tokens`` are its own tokens."""
    lengths = store.lengths
    return [PlannedBatch(rows, (lengths[rows] - 1).sum(0), seed=0) for rows in plan_sorted(lengths, tokens)]
