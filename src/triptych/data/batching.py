"""Which pairs share a batch, in which order the batches come, and a hash of what came.

The plan of an epoch is a function of the lengths, the budget, the seed and the epoch alone, so every architecture
trains on the same batches in the same order, and so does a run that was interrupted.
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
"""(B,) the places in a store of the pairs of one batch."""
Lengths = NDArray[np.integer]
"""(n, 2) tokens of source and target, special tokens counted as in ``Batch``."""


def unique_length_pairs(lengths: Lengths) -> tuple[Lengths, NDArray[np.intp]]:
    """The different rows of (n, 2) lengths, and for each of the n its place among them.

    Of a number that holds both sides, since NumPy takes minutes to sort millions of rows.
    """
    packed, places = np.unique(lengths[:, 0].astype(np.int64) << 32 | lengths[:, 1], return_inverse=True)
    return np.stack([packed >> 32, packed & (2**32 - 1)], axis=1), places


def plan(lengths: Lengths, tokens: int, seed: int, epoch: int) -> list[Rows]:
    """The batches of one training epoch, every pair in exactly one, in random order.

    A batch holds pairs of similar length: pairs are sorted by the longer of their sides, then by both, ties in random
    order, and cut. The cuts depend on the sorted lengths alone: every epoch has the same number of batches.

    Args:
        lengths: (n, 2) tokens of source and target, special tokens counted as in ``Batch``.
        tokens: most padded tokens of a batch on either side: rows x the longest row (the papers' "25k source and 25k
            target tokens").

    Raises:
        UserError: where a pair alone is over the budget.
    """
    random = np.random.default_rng([seed, epoch])
    shuffled = random.random(len(lengths)).argsort(kind="stable").astype(np.int32)
    batches = _cut(_by_length(shuffled, lengths), lengths, tokens)
    return [batches[i] for i in random.permutation(len(batches))]


def plan_sorted(lengths: Lengths, tokens: int) -> list[Rows]:
    """The same without chance, longest pairs first: for validation and search."""
    return _cut(_by_length(np.arange(len(lengths), dtype=np.int32), lengths), lengths, tokens)


def _by_length(order: Rows, lengths: Lengths) -> Rows:
    """Pairs from long to short, those that are alike in the reverse of the order given.

    Sorted by the shorter side, then by the longer: two passes over 16 bits each, for which NumPy has a radix sort.
    """
    for key in (lengths.min(1), lengths.max(1)):
        narrow = key.astype(np.uint16) if key.max(initial=0) < 2**16 else key
        order = order[narrow[order].argsort(kind="stable")]
    return order[::-1]


def _cut(order: Rows, lengths: Lengths, tokens: int) -> list[Rows]:
    """Cuts rows that are ordered from long to short: the first row of a batch says how many fit."""
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
    """The batches of one optimizer step, over all ranks and accumulated batches.

    Attributes:
        batches: rank after rank within an accumulated batch, one accumulated batch after the other.
        tokens: (2,) their ``Batch.step_tokens``.
    """

    batches: list[Rows]
    tokens: NDArray[np.int64]


class Stream:
    """All of training as one endless sequence of windows, epoch after epoch.

    A window is ``size`` consecutive batches of an epoch's plan. The last one of an epoch is filled up from the plan's
    beginning, so that every step is a whole one and no rank runs out before another.

    Args:
        lengths: (n, 2) as for ``plan``; ``tokens`` and ``seed`` likewise.
        size: batches of a window: ranks x accumulated batches.

    Attributes:
        epoch_steps: windows of an epoch.
    """

    def __init__(self, lengths: Lengths, *, tokens: int, seed: int, size: int) -> None:
        self.lengths = lengths
        self.tokens = tokens
        self.seed = seed
        self.size = size
        self._epoch, self._planned = 0, plan(lengths, tokens, seed, epoch=0)
        self.epoch_steps = -(-len(self._planned) // size)

    def windows(self, first_step: int = 0) -> Iterator[Window]:
        """The windows from a step on, counted from 0; none before it is made."""
        epoch, first = divmod(first_step, self.epoch_steps)
        while True:
            batches = self._plan(epoch)
            for number in range(first, self.epoch_steps):
                members = [batches[(number * self.size + i) % len(batches)] for i in range(self.size)]
                yield Window(members, (self.lengths[np.concatenate(members)] - 1).sum(0))
            epoch, first = epoch + 1, 0

    def _plan(self, epoch: int) -> list[Rows]:
        """Kept until another epoch is asked for: of a large corpus it takes a while."""
        if epoch != self._epoch:
            self._epoch, self._planned = epoch, plan(self.lengths, self.tokens, self.seed, epoch)
        return self._planned

    def steps_for(self, tokens: int) -> int:
        """The fewest steps that train on so many source and target tokens, counted as in ``Batch.step_tokens``."""
        steps, seen = 0, 0
        for window in self.windows():
            if seen >= tokens:
                break
            steps, seen = steps + 1, seen + int(window.tokens.sum())
        return steps


class Planned(NamedTuple):
    """One batch to be made.

    Attributes:
        rows: places in the store.
        step_tokens: (2,) as ``Batch.step_tokens``.
        seed: for subword sampling, another one for every batch of training.
    """

    rows: Rows
    step_tokens: NDArray[np.int64]
    seed: int


class Sampler(torch.utils.data.Sampler[Planned]):
    """One rank's share of the stream, which is dealt out to the ranks batch by batch.

    Args:
        stream: windows of ``accumulate * ranks`` batches.
        steps: optimizer steps of the whole training.
        first_step: the step to begin at, for a run that goes on.
        accumulate: batches of each rank in a step.
        rank: this rank, from 0.
    """

    def __init__(self, stream: Stream, *, steps: int, first_step: int, accumulate: int, rank: int) -> None:
        self.stream = stream
        self.steps = steps
        self.first_step = first_step
        self.accumulate = accumulate
        self.rank = rank

    def __len__(self) -> int:
        """Batches of the whole training, those before ``first_step`` included: a resumed Lightning counts them too."""
        return self.steps * self.accumulate

    def __iter__(self) -> Iterator[Planned]:
        ranks = self.stream.size // self.accumulate
        for step, window in zip(range(self.first_step, self.steps), self.stream.windows(self.first_step), strict=False):
            for place in range(self.rank, self.stream.size, ranks):
                seed = np.random.SeedSequence([self.stream.seed, step, place]).generate_state(1)[0]
                yield Planned(window.batches[place], window.tokens, int(seed))


@dataclass
class TokenStream:
    """A running hash of batches: two runs with the same digest saw the same tokens in the same order.

    ``digest`` is empty before the first batch, then 64 hexadecimal digits. Each is the SHA-256 of the one before and
    the batch's pairs, ids and lengths, so it is all the state there is: ``TokenStream(digest)`` goes on where another
    stream stopped.
    """

    digest: str = ""

    def update(self, batch: Batch) -> None:
        """Best called with a batch on the CPU: on a GPU it waits for the device."""
        chained = hashlib.sha256(self.digest.encode())
        for tensor in (batch.index, batch.src_lengths, batch.tgt_lengths, batch.src, batch.tgt):
            chained.update(_little_endian(tensor))
        self.digest = chained.hexdigest()


def _little_endian(tensor: Tensor) -> bytes:
    return tensor.cpu().numpy().astype("<i8").tobytes()
