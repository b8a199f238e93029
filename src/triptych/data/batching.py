"""Group pairs into batches, order the batches, and hash the batches that were seen.

The batches of an epoch depend only on the lengths, the token budget, the seed and the epoch. Every architecture
therefore trains on the same batches in the same order, and so does a run that was interrupted and resumed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from triptych.contract.batch import Batch
from triptych.data.epoch_plan import Lengths, Rows
from triptych.data.planned_epochs import planned_epochs


def unique_length_pairs(lengths: Lengths) -> tuple[Lengths, NDArray[np.intp]]:
    """Return the distinct rows of (n, 2) lengths, and for each of the n rows its position among the distinct ones.

    Both lengths are packed into one integer first: NumPy takes minutes to sort millions of two-column rows.
    """
    packed, inverse = np.unique(lengths[:, 0].astype(np.int64) << 32 | lengths[:, 1], return_inverse=True)
    return np.stack([packed >> 32, packed & (2**32 - 1)], axis=1), inverse


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
        lengths: (n, 2) expected number of source and target tokens of each pair; budgets and results count these.
        tokens: as for ``plan_epoch``; ``seed`` likewise.
        size: number of batches in a window: ranks times accumulated batches.
        longest: (n, 2) the largest number of tokens of each pair, used to plan batches; None if it is the expected one.
        cache: folder in which the plans of a large corpus are kept; None to keep them in memory.

    Attributes:
        epoch_steps: number of windows, and so of optimizer steps, in an epoch.
    """

    def __init__(
        self,
        lengths: Lengths,
        *,
        tokens: int,
        seed: int,
        size: int,
        longest: Lengths | None = None,
        cache: Path | None = None,
    ) -> None:
        self._epochs = planned_epochs(lengths if longest is None else longest, tokens, seed, cache)
        self.longest = self._epochs.lengths
        self.lengths = self.longest if longest is None else lengths
        self.seed = seed
        self.size = size
        self.epoch_steps = -(-len(self._epochs.batches(0)) // size)

    def windows(self, first_step: int = 0, steps: int = 0) -> Iterator[Window]:
        """Yield the windows from an optimizer step on, without computing those before it.

        Args:
            first_step: counted from 0.
            steps: of the whole training, whose epochs are planned ahead; 0 to plan none.
        """
        epoch, first = divmod(first_step, self.epoch_steps)
        while True:
            batches = self._epochs.batches(epoch)
            if (epoch + 1) * self.epoch_steps < steps:
                self._epochs.plan_ahead(epoch + 1)
            for number in range(first, self.epoch_steps):
                members = [batches[(number * self.size + i) % len(batches)] for i in range(self.size)]
                yield Window(members, self.tokens_of(np.concatenate(members)))
            epoch, first = epoch + 1, 0

    def tokens_of(self, rows: Rows) -> NDArray[np.int64]:
        """Return ``Batch.step_tokens`` of an optimizer step on these pairs, (2,)."""
        return (self.lengths[rows] - 1).sum(0)

    def largest(self) -> list[Rows]:
        """Return the batch with most padded tokens and the one with the longest pairs, which need most memory.

        Those of the first epoch; every other epoch has batches of nearly the same lengths.
        """
        batches = self._epochs.batches(0)
        most_tokens = np.argmax([len(rows) * self.longest[rows].max(0).sum() for rows in batches])
        longest_pairs = np.argmax([self.longest[rows].sum(1).max() for rows in batches])
        return [batches[i] for i in sorted({int(most_tokens), int(longest_pairs)})]

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
        windows = self.stream.windows(self.first_step, self.steps)
        for step, window in zip(range(self.first_step, self.steps), windows, strict=False):
            for i in range(self.rank, self.stream.size, ranks):
                seed = np.random.SeedSequence([self.stream.seed, step, i]).generate_state(1)[0]
                yield PlannedBatch(window.batches[i], window.tokens, int(seed))


STREAM_PREFIX = "sum:"
"""Beginning of a ``TokenStream``'s digest. Those of version 0.2 have none and are of another kind."""


@dataclass(frozen=True)
class TokenStream:
    """A hash of numbered batches: two runs with the same digest saw the same tokens in the same order.

    It is the sum, modulo 2^256, of the SHA-256 of each batch with its number. So it does not depend on which process
    saw which batch: the stream of several is the sum of theirs.

    Attributes:
        total: the sum, which is the whole state.
    """

    total: int = 0

    @property
    def digest(self) -> str:
        """The sum as 64 hexadecimal digits, after ``STREAM_PREFIX``."""
        return f"{STREAM_PREFIX}{self.total:064x}"

    @classmethod
    def parse(cls, digest: str) -> TokenStream:
        """Return the stream that has a digest.

        Raises:
            ValueError: the digest is of another kind.
        """
        if not digest.startswith(STREAM_PREFIX):
            raise ValueError(f"{digest} does not begin with {STREAM_PREFIX}")
        return cls(int(digest.removeprefix(STREAM_PREFIX), 16))

    def with_batch(self, batch: Batch, number: int) -> TokenStream:
        """Return the stream that has one more batch.

        Args:
            batch: on the CPU: reading one from a GPU synchronises with the device.
            number: of the batch in the whole training, over all processes, from 0.
        """
        content = hashlib.sha256(number.to_bytes(8, "little"))
        for tensor in (batch.index, batch.src_lengths, batch.tgt_lengths, batch.src, batch.tgt):
            content.update(_little_endian(tensor))
        return self + TokenStream(int.from_bytes(content.digest(), "little"))

    def __add__(self, other: TokenStream) -> TokenStream:
        return TokenStream((self.total + other.total) % 2**256)


def _little_endian(tensor: Tensor) -> bytes:
    return tensor.cpu().numpy().astype("<i8").tobytes()
