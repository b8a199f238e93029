"""What a run has consumed: which pairs, of which lengths, in which order."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from triptych.batch import Batch
from triptych.data.batching import TokenStream
from triptych.training.ranks import gather


class Consumed:
    """Counts pairs by kind (``accounting.Pairs``), so that tokens and FLOPs follow exactly, and hashes the stream.

    Attributes:
        marks: the stream's digest after 1, 2, 4, 8 … optimizer steps, by which two trainings of unequal length can be
            seen to have begun alike.
    """

    def __init__(self) -> None:
        self.pairs: Counter[tuple[int, int, bool]] = Counter()
        self.stream = TokenStream()
        self.marks: dict[int, str] = {}

    def update(self, batch: Batch, autoencoded: bool) -> None:
        """Counts a batch that is still on the CPU, and whether the loss asked for its sources too (lambda > 0)."""
        lengths = zip(batch.src_lengths.tolist(), batch.tgt_lengths.tolist(), strict=True)
        self.pairs.update((src, tgt, autoencoded) for src, tgt in lengths)
        self.stream.update(batch)

    def mark(self, step: int) -> None:
        """To be called after every batch, with the optimizer steps that are done."""
        if step.bit_count() == 1:
            self.marks.setdefault(step, self.stream.digest)

    @property
    def tokens_src(self) -> int:
        """Source pieces, ``</s>`` not counted."""
        return sum((src - 1) * count for (src, _, _), count in self.pairs.items())

    @property
    def tokens_tgt(self) -> int:
        """Target tokens that were predicted, ``</s>`` counted."""
        return sum((tgt - 1) * count for (_, tgt, _), count in self.pairs.items())

    def of_all_ranks(self) -> Consumed:
        """The sum over all ranks, the stream a hash of theirs; on every rank, which must all ask."""
        states = gather(self.state_dict())
        if len(states) == 1:
            return self
        total = Consumed()
        for state in states:
            one = Consumed()
            one.load_state_dict(state)
            total.pairs.update(one.pairs)
        total.stream = TokenStream(_of_all(state["digest"] for state in states))
        total.marks = {step: _of_all(state["marks"][step] for state in states) for step in self.marks}
        return total

    def state_dict(self) -> dict[str, Any]:
        rows = [(*kind, count) for kind, count in self.pairs.items()]
        return {"pairs": torch.tensor(rows).reshape(-1, 4), "digest": self.stream.digest, "marks": self.marks}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        pairs: Tensor = state["pairs"]
        self.pairs = Counter({(src, tgt, bool(auto)): count for src, tgt, auto, count in pairs.tolist()})
        self.stream, self.marks = TokenStream(state["digest"]), dict(state["marks"])


def _of_all(digests: Iterable[str]) -> str:
    return hashlib.sha256("".join(digests).encode()).hexdigest()
