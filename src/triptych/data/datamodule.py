"""From stored ids to batches of tensors, for Lightning's trainer and for search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import lightning
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from triptych.contract.batch import Batch
from triptych.contract.vocabulary import EOS, PAD, SIDES
from triptych.data.batching import Lengths, Planned, Rows, Sampler, Stream, plan_sorted
from triptych.data.corpus import TRAIN, VALIDATION, Corpus, Pairs
from triptych.data.ragged_array import Ragged
from triptych.data.store import SPECIAL_TOKENS, Store
from triptych.data.tokenizer import Tokenizer

SAMPLE = 10_000
"""Pairs by which it is known how much subword sampling makes of a text."""


class TranslationData(lightning.LightningDataModule):
    """Training batches as planned (``batching.py``) and validation batches sorted by length.

    All of training is one pass over one loader, whatever the number of epochs: the trainer runs with ``max_epochs=1``,
    and with ``use_distributed_sampler=False``, since the stream deals out the ranks' shares itself. Every rank
    validates the whole split, so that validation needs no reduction.

    Args:
        stores: by split, ``train`` and ``validation`` among them.
        tokenizer: segments the training text anew for every batch where its ``sampling`` is above 0.
        corpus: what the stores were made of.
        batch_tokens: most padded tokens of a batch on either side.
        accumulate: batches of each rank in one optimizer step.
        seed: of the order of the batches and of subword sampling.
        workers: processes that make batches; 0 makes them in the training process.
        ranks: devices that train together.
        budget: how many optimizer steps of a stream are the whole training.

    Attributes:
        stream: of all of training.
        total_steps: the budget in optimizer steps.
        first_step: the step that training begins at; set it before a fit that goes on from a checkpoint.

    Raises:
        UserError: where a training or validation pair alone is over ``batch_tokens``.
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
    ) -> None:
        super().__init__()
        lengths, resample = stores[TRAIN].lengths, None
        if tokenizer.sampling > 0:
            resample = Resample(tokenizer, corpus.splits[TRAIN], stores[TRAIN])
            lengths = resample.expected(lengths - SPECIAL_TOKENS) + SPECIAL_TOKENS
        self._train = StoredBatches(stores[TRAIN], resample)
        self._validation = StoredBatches(stores[VALIDATION])
        self._validation_plan = _plan_alone(stores[VALIDATION], batch_tokens)
        self.stream = Stream(lengths, tokens=batch_tokens, seed=seed, size=ranks * accumulate)
        self._accumulate = accumulate
        self._workers = workers
        self.first_step = 0
        self.total_steps = budget(self.stream)

    def train_dataloader(self) -> DataLoader[Batch]:
        sampler = Sampler(
            self.stream,
            steps=self.total_steps,
            first_step=self.first_step,
            accumulate=self._accumulate,
            rank=self.trainer.global_rank if self.trainer else 0,
        )
        return self._loader(self._train, sampler)

    def val_dataloader(self) -> DataLoader[Batch]:
        return self._loader(self._validation, self._validation_plan)

    def _loader(self, made: StoredBatches, plan: Sampler | list[Planned]) -> DataLoader[Batch]:
        return DataLoader(
            made,
            sampler=plan,
            batch_size=None,
            num_workers=self._workers,
            persistent_workers=self._workers > 0,
            pin_memory=self.trainer is not None and self.trainer.strategy.root_device.type == "cuda",
            generator=torch.Generator(),  # without one of its own, a loader draws from the one that dropout uses
        )


class Resample:
    """Segments training text anew (``Tokenizer.sample``), pair by pair of the corpus.

    Attributes:
        growth: (2,) pieces drawn for each that is stored, of source and target, by a sample of the pairs.
    """

    def __init__(self, tokenizer: Tokenizer, pairs: Pairs, store: Store) -> None:
        self.tokenizer = tokenizer
        self.pairs = pairs
        self._limit = store.max_length or np.inf
        rows = np.linspace(0, len(store) - 1, min(len(store), SAMPLE)).astype(np.int64)
        stored = [store.rows(rows, side) for side in SIDES]
        drawn = self(stored, store.index[rows], seed=0)
        self.growth = np.array([len(new.flat) / len(old.flat) for new, old in zip(drawn, stored, strict=True)])

    def __call__(self, stored: Sequence[Ragged], index: Rows, seed: int) -> list[Ragged]:
        """New ids of both sides of the pairs ``index``, a function of ``seed``.

        A line that comes out longer than training pairs may be (``Store.max_length``) keeps its old ones.
        """
        seeds = np.random.SeedSequence(seed).generate_state(len(SIDES)).tolist()
        return [self._side(*each, index) for each in zip(stored, SIDES, seeds, strict=True)]

    def _side(self, stored: Ragged, side: str, seed: int, index: Rows) -> Ragged:
        lines = self.pairs[SIDES.index(side)]
        drawn = self.tokenizer.sample([lines[i] for i in index], side, seed)
        rows = [old if len(new) > self._limit else new for old, new in zip(stored.rows(), drawn, strict=True)]
        return Ragged(np.concatenate(rows).astype(stored.flat.dtype), np.array([len(row) for row in rows]))

    def expected(self, pieces: Lengths) -> Lengths:
        """How many pieces will be drawn where (n, 2) are stored, on average."""
        return np.minimum(np.rint(pieces * self.growth), self._limit).astype(pieces.dtype)


class StoredBatches(Dataset[Batch]):
    """Makes planned batches out of a store.

    With ``resample``, the pieces of each batch are drawn anew, as a function of its seed. The plan knows them by their
    expectation alone: a batch may be somewhat above or below the budget, and ``step_tokens`` counts what was drawn for
    this batch and what was expected for the others of its window.
    """

    def __init__(self, store: Store, resample: Resample | None = None) -> None:
        self.store = store
        self.resample = resample

    def __getitem__(self, planned: Planned) -> Batch:
        rows, step_tokens, seed = planned
        index, tags = self.store.index[rows], self.store.tags(rows)
        src, tgt = (self.store.rows(rows, side) for side in SIDES)
        if self.resample is not None:
            expected = self.resample.expected(np.stack([src.lengths, tgt.lengths], axis=1))
            src, tgt = self.resample([src, tgt], index, seed)
            step_tokens = step_tokens + np.array([len(src.flat), len(tgt.flat)]) - expected.sum(0)
        return collate(src, tgt, index, step_tokens, tags)


def collate(src: Ragged, tgt: Ragged, index: Rows, step_tokens: NDArray[np.int64], tags: NDArray[np.int64]) -> Batch:
    """What ``Batch.from_ids`` does, of tags (B, 2), without a Python object a token."""
    src_ids, src_lengths = _pad(src, begin=tags[:, :0], end=tags[:, 0])
    tgt_ids, tgt_lengths = _pad(tgt, begin=tags[:, 1:], end=EOS)
    return Batch(
        src=src_ids,
        tgt=tgt_ids,
        src_lengths=src_lengths,
        tgt_lengths=tgt_lengths,
        index=torch.from_numpy(index),
        host_lengths=torch.stack([src_lengths, tgt_lengths]).numpy(),
        step_tokens=torch.from_numpy(step_tokens),
    )


def _pad(ids: Ragged, begin: NDArray[np.int64], end: NDArray[np.int64] | int) -> tuple[Tensor, Tensor]:
    """A row's ``begin`` (B, 0 or 1), its ids and its ``end``, padded on the right (B, S), and the lengths (B,)."""
    first = begin.shape[1]
    lengths = first + ids.lengths + 1
    places = np.arange(lengths.max())
    padded = np.full((len(lengths), lengths.max()), PAD, np.int64)
    padded[:, :first] = begin
    padded[(places >= first) & (places < lengths[:, None] - 1)] = ids.flat
    padded[np.arange(len(lengths)), lengths - 1] = end
    return torch.from_numpy(padded), torch.from_numpy(lengths)


def _plan_alone(store: Store, tokens: int) -> list[Planned]:
    """The sorted plan, each batch a step of its own."""
    lengths = store.lengths
    return [Planned(rows, (lengths[rows] - 1).sum(0), seed=0) for rows in plan_sorted(lengths, tokens)]
