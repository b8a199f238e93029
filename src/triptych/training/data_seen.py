"""Record the training data that a run has seen: how many pairs of which lengths, in which order."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from triptych.contract.batch import Batch
from triptych.data.batching import TokenStream
from triptych.training.distributed import all_gather


class DataSeen:
    """Counts pairs by kind (``accounting.PairCounts``), so that tokens and FLOPs follow exactly, and hashes the stream.

    Attributes:
        digests_by_step: the stream's digest after 1, 2, 4, 8 … optimizer steps. They show whether two trainings of
            unequal length began with the same batches.
    """

    def __init__(self) -> None:
        self.pairs: Counter[tuple[int, int, bool]] = Counter()
        self.stream = TokenStream()
        self.digests_by_step: dict[int, str] = {}

    def update(self, batch: Batch, autoencoded: bool) -> None:
        """Count a batch, which must be on the CPU.

        Args:
            batch: training batch.
            autoencoded: whether the loss included its source tokens (lambda > 0).
        """
        lengths = zip(batch.src_lengths.tolist(), batch.tgt_lengths.tolist(), strict=True)
        self.pairs.update((src, tgt, autoencoded) for src, tgt in lengths)
        self.stream.update(batch)

    def record_digest(self, step: int) -> None:
        """Store the stream's digest at steps 1, 2, 4, 8 …; call it after every batch with the optimizer steps done."""
        if step.bit_count() == 1:
            self.digests_by_step.setdefault(step, self.stream.digest)

    @property
    def tokens_src(self) -> int:
        """Number of source tokens seen, without ``</s>``."""
        return sum((src - 1) * count for (src, _, _), count in self.pairs.items())

    @property
    def tokens_tgt(self) -> int:
        """Number of target tokens predicted, with ``</s>``."""
        return sum((tgt - 1) * count for (_, tgt, _), count in self.pairs.items())

    def across_ranks(self) -> DataSeen:
        """Sum the counts over all ranks and hash their digests together. Collective: every rank must call it."""
        states = all_gather(self.state_dict())
        if len(states) == 1:
            return self
        total = DataSeen()
        for state in states:
            one = DataSeen()
            one.load_state_dict(state)
            total.pairs.update(one.pairs)
        total.stream = TokenStream(_of_all(state["digest"] for state in states))
        total.digests_by_step = {
            step: _of_all(state["digests_by_step"][step] for state in states) for step in self.digests_by_step
        }
        return total

    def state_dict(self) -> dict[str, Any]:
        rows = [(*kind, count) for kind, count in self.pairs.items()]
        return {
            "pairs": torch.tensor(rows).reshape(-1, 4),
            "digest": self.stream.digest,
            "digests_by_step": self.digests_by_step,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        pairs: Tensor = state["pairs"]
        self.pairs = Counter({(src, tgt, bool(auto)): count for src, tgt, auto, count in pairs.tolist()})
        self.stream, self.digests_by_step = TokenStream(state["digest"]), dict(state["digests_by_step"])


def _of_all(digests: Iterable[str]) -> str:
    return hashlib.sha256("".join(digests).encode()).hexdigest()
