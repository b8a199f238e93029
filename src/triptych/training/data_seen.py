"""Record the training data that a run has seen: the number of pairs of each length, and a hash of their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from triptych.contract.batch import Batch
from triptych.data.batching import TokenStream
from triptych.training.distributed import all_gather


class DataSeen:
    """Counts pairs by kind (``accounting.PairCounts``), so that tokens and FLOPs follow exactly, and hashes the stream.

    Each process of a training has seen its own batches; what all have seen is the sum.

    Attributes:
        stream_after: the stream after 1, 2, 4, 8 … optimizer steps. It shows whether two trainings of unequal length
            began with the same batches.
    """

    def __init__(self) -> None:
        self.pairs: Counter[tuple[int, int, bool]] = Counter()
        self.stream = TokenStream()
        self.stream_after: dict[int, TokenStream] = {}

    def update(self, batch: Batch, number: int, autoencoded: bool) -> None:
        """Count a batch, which must be on the CPU.

        Args:
            batch: training batch.
            number: of the batch in the whole training, over all processes, from 0.
            autoencoded: whether the loss included its source tokens (lambda > 0).
        """
        lengths = zip(batch.src_lengths.tolist(), batch.tgt_lengths.tolist(), strict=True)
        self.pairs.update((src, tgt, autoencoded) for src, tgt in lengths)
        self.stream = self.stream.with_batch(batch, number)

    def record_stream(self, step: int) -> None:
        """Keep the stream at steps 1, 2, 4, 8 …; call it after every batch with the optimizer steps done."""
        if step.bit_count() == 1:
            self.stream_after.setdefault(step, self.stream)

    @property
    def tokens_src(self) -> int:
        """Number of source tokens seen, without ``</s>``."""
        return sum((src - 1) * count for (src, _, _), count in self.pairs.items())

    @property
    def tokens_tgt(self) -> int:
        """Number of target tokens predicted, with ``</s>``."""
        return sum((tgt - 1) * count for (_, tgt, _), count in self.pairs.items())

    def across_ranks(self) -> DataSeen:
        """Return what all ranks have seen. Collective: every rank must call it."""
        return DataSeen.sum(map(DataSeen.from_state, all_gather(self.state_dict())))

    @classmethod
    def sum(cls, parts: Iterable[DataSeen]) -> DataSeen:
        """Return what the processes that saw the parts have seen together."""
        total = cls()
        for part in parts:
            total.pairs.update(part.pairs)
            total.stream += part.stream
            for step, stream in part.stream_after.items():
                total.stream_after[step] = total.stream_after.get(step, TokenStream()) + stream
        return total

    @classmethod
    def of_rank(cls, states: Sequence[dict[str, Any]], rank: int, ranks: int) -> DataSeen:
        """Return what a rank resumes from, given the states of all ranks in the checkpoint.

        If the number of ranks has changed, rank 0 takes everything that was seen, and the others nothing.
        """
        if len(states) == ranks:
            return cls.from_state(states[rank])
        total, nothing = cls.sum(map(cls.from_state, states)), cls()
        nothing.stream_after = dict.fromkeys(total.stream_after, TokenStream())  # these steps are over
        return total if rank == 0 else nothing

    def state_dict(self) -> dict[str, Any]:
        rows = [(*kind, count) for kind, count in self.pairs.items()]
        return {
            "pairs": torch.tensor(rows).reshape(-1, 4),
            "digest": self.stream.digest,
            "digests_by_step": {step: stream.digest for step, stream in self.stream_after.items()},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> DataSeen:
        """Return the counts that ``state_dict`` returned.

        Raises:
            ValueError: they are of version 0.2.
        """
        seen, pairs = cls(), state["pairs"]
        assert isinstance(pairs, Tensor)
        seen.pairs = Counter({(src, tgt, bool(auto)): count for src, tgt, auto, count in pairs.tolist()})
        seen.stream = TokenStream.parse(state["digest"])
        seen.stream_after = {step: TokenStream.parse(digest) for step, digest in state["digests_by_step"].items()}
        return seen
