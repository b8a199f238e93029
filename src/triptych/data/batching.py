"""Group pairs into batches, order the batches, and hash the batches that were seen.

The batches of an epoch depend only on the lengths, the token budget, the seed and the epoch. Every architecture
therefore trains on the same batches in the same order, and so does a run that was interrupted and resumed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from triptych.contract.batch import Batch
from triptych.errors import UserError

Rows = NDArray[np.integer]
"""(B,) positions in a store of the pairs of one batch."""
Lengths = NDArray[np.integer]
"""(n, 2) number of source and target tokens of each pair, special tokens counted as in ``Batch``."""


def unique_length_pairs(lengths: Lengths) -> tuple[Lengths, NDArray[np.intp]]:
    """Return the distinct rows of (n, 2) lengths, and for each of the n rows its position among the distinct ones.

    Both lengths are packed into one integer first: NumPy takes minutes to sort millions of two-column rows.
    """
    packed, inverse = np.unique(lengths[:, 0].astype(np.int64) << 32 | lengths[:, 1], return_inverse=True)
    return np.stack([packed >> 32, packed & (2**32 - 1)], axis=1), inverse


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


class Window(NamedTuple):
    """Batches of one optimizer step, over all ranks and accumulated batches.

    Attributes:
        batches: the first accumulated batch of every rank, then the second of every rank, and so on.
        tokens: (2,) ``Batch.step_tokens`` of these batches.
    """

    batches: list[Rows]
    tokens: NDArray[np.int64]


class Stream:
    """All of training as one endless sequence of windows, epoch after epoch.

    A window is ``size`` consecutive batches of an epoch. The last window of an epoch is filled up with the epoch's
    first batches, so that every optimizer step is complete and all ranks have equally many batches.

    Args:
        lengths: (n, 2) expected number of source and target tokens of each pair, by which training is counted.
        tokens: as for ``plan_epoch``; ``seed`` likewise.
        size: number of batches in a window: ranks times accumulated batches.
        longest: (n, 2) the largest number of tokens, by which batches are planned; None where it is the expected one.

    Attributes:
        epoch_steps: number of windows, and so of optimizer steps, in an epoch.
    """

    def __init__(self, lengths: Lengths, *, tokens: int, seed: int, size: int, longest: Lengths | None = None) -> None:
        self.lengths = lengths
        self.longest = lengths if longest is None else longest
        self.tokens = tokens
        self.seed = seed
        self.size = size
        self._epoch, self._batches = 0, plan_epoch(self.longest, tokens, seed, epoch=0)
        self.epoch_steps = -(-len(self._batches) // size)

    def windows(self, first_step: int = 0) -> Iterator[Window]:
        """Yield the windows from an optimizer step on, counted from 0, without computing those before it."""
        epoch, first = divmod(first_step, self.epoch_steps)
        while True:
            batches = self._plan(epoch)
            for number in range(first, self.epoch_steps):
                members = [batches[(number * self.size + i) % len(batches)] for i in range(self.size)]
                yield Window(members, self.tokens_of(np.concatenate(members)))
            epoch, first = epoch + 1, 0

    def tokens_of(self, rows: Rows) -> NDArray[np.int64]:
        """Return ``Batch.step_tokens`` of an optimizer step on these pairs, (2,)."""
        return (self.lengths[rows] - 1).sum(0)

    def largest(self) -> list[Rows]:
        """Return the batch with most padded tokens and the one with the longest pairs, which need most memory.

        Those of the first epoch; every other epoch has batches of the same lengths.
        """
        padded = [len(rows) * self.longest[rows].max(0).sum() for rows in self._plan(0)]
        longest = [self.longest[rows].sum(1).max() for rows in self._plan(0)]
        return [self._plan(0)[i] for i in sorted({int(np.argmax(padded)), int(np.argmax(longest))})]

    def _plan(self, epoch: int) -> list[Rows]:
        """Return the batches of an epoch. The last epoch's are kept, since planning a large corpus takes seconds."""
        if epoch != self._epoch:
            self._epoch, self._batches = epoch, plan_epoch(self.longest, self.tokens, self.seed, epoch)
        return self._batches

    def steps_for(self, tokens: int) -> int:
        """Return the smallest number of steps that train on at least so many tokens.

        Args:
            tokens: source and target tokens together, counted as in ``Batch.step_tokens``.
        """
        steps, seen = 0, 0
        for window in self.windows():
            if seen >= tokens:
                break
            steps, seen = steps + 1, seen + int(window.tokens.sum())
        return steps


class PlannedBatch(NamedTuple):
    """A batch before its ids are loaded.

    Attributes:
        rows: (B,) positions of its pairs in the store.
        step_tokens: (2,) ``Batch.step_tokens``.
        seed: seed of subword sampling, different for every batch of training.
    """

    rows: Rows
    step_tokens: NDArray[np.int64]
    seed: int


class Sampler(torch.utils.data.Sampler[PlannedBatch]):
    """One rank's share of the stream, whose batches are dealt to the ranks in turn.

    Args:
        stream: a stream of windows of ``accumulate * ranks`` batches.
        steps: number of optimizer steps in the whole training.
        first_step: step to start at, counted from 0; above 0 for a run that is resumed.
        accumulate: number of batches of each rank in an optimizer step.
        rank: number of this rank, from 0.
    """

    def __init__(self, stream: Stream, *, steps: int, first_step: int, accumulate: int, rank: int) -> None:
        self.stream = stream
        self.steps = steps
        self.first_step = first_step
        self.accumulate = accumulate
        self.rank = rank

    def __len__(self) -> int:
        """Number of this rank's batches in the whole training.

        The batches before ``first_step`` are included, because Lightning counts them when it resumes.
        """
        return self.steps * self.accumulate

    def __iter__(self) -> Iterator[PlannedBatch]:
        ranks = self.stream.size // self.accumulate
        for step, window in zip(range(self.first_step, self.steps), self.stream.windows(self.first_step), strict=False):
            for i in range(self.rank, self.stream.size, ranks):
                seed = np.random.SeedSequence([self.stream.seed, step, i]).generate_state(1)[0]
                yield PlannedBatch(window.batches[i], window.tokens, int(seed))


@dataclass
class TokenStream:
    """A running hash of batches: two runs with the same digest saw the same tokens in the same order.

    The digest is the whole state, so ``TokenStream(digest)`` continues where another stream stopped.

    Attributes:
        digest: empty before the first batch, then 64 hexadecimal digits: the SHA-256 of the digest before and of the
            batch's ids, lengths and positions in the corpus.
    """

    digest: str = ""

    def update(self, batch: Batch) -> None:
        """Add a batch. Pass a batch on the CPU: reading one from a GPU synchronises with the device."""
        chained = hashlib.sha256(self.digest.encode())
        for tensor in (batch.index, batch.src_lengths, batch.tgt_lengths, batch.src, batch.tgt):
            chained.update(_little_endian(tensor))
        self.digest = chained.hexdigest()


def _little_endian(tensor: Tensor) -> bytes:
    return tensor.cpu().numpy().astype("<i8").tobytes()
