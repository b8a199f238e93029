"""What a run has consumed: which pairs, of which lengths, in which order."""

from __future__ import annotations

import hashlib
from typing import Any

import torch
from torch import Tensor

from triptych.batch import Batch
from triptych.data.batching import TokenStream
from triptych.training.ranks import gather


class Consumed:
    """Counts pairs by their two lengths, so that tokens and FLOPs follow exactly, and hashes the stream of batches."""

    def __init__(self) -> None:
        self.pairs: dict[tuple[int, int], int] = {}
        self.stream = TokenStream()

    def update(self, batch: Batch) -> None:
        """Counts a batch that is still on the CPU."""
        for lengths in zip(batch.src_lengths.tolist(), batch.tgt_lengths.tolist(), strict=True):
            self.pairs[lengths] = self.pairs.get(lengths, 0) + 1
        self.stream.update(batch)

    @property
    def tokens_src(self) -> int:
        """Source pieces, ``</s>`` not counted."""
        return sum((src - 1) * count for (src, _), count in self.pairs.items())

    @property
    def tokens_tgt(self) -> int:
        """Target tokens that were predicted, ``</s>`` counted."""
        return sum((tgt - 1) * count for (_, tgt), count in self.pairs.items())

    def of_all_ranks(self) -> Consumed:
        """The sum over all ranks, the stream a hash of theirs; on every rank, which must all ask."""
        states = gather(self.state_dict())
        if len(states) == 1:
            return self
        total = Consumed()
        for state in states:
            one = Consumed()
            one.load_state_dict(state)
            for lengths, count in one.pairs.items():
                total.pairs[lengths] = total.pairs.get(lengths, 0) + count
        total.stream = TokenStream(hashlib.sha256("".join(state["digest"] for state in states).encode()).hexdigest())
        return total

    def state_dict(self) -> dict[str, Any]:
        rows = [(*lengths, count) for lengths, count in self.pairs.items()]
        return {"pairs": torch.tensor(rows).reshape(-1, 3), "digest": self.stream.hexdigest()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        pairs: Tensor = state["pairs"]
        self.pairs = {(src, tgt): count for src, tgt, count in pairs.tolist()}
        self.stream = TokenStream(state["digest"])
