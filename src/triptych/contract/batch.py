"""Batch and Prediction: what goes into every architecture, and what comes out.

B sentences, S source and T target positions, N positions that carry a target, D features, V pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from triptych.contract.vocabulary import EOS, PAD, LanguageTags


@dataclass
class Batch:
    """Right-padded sentence pairs.

    Attributes:
        src: (B, S) source ids, each row ends in ``</s>``.
        tgt: (B, T) target ids, each row is ``<s> … </s>``. In a run of several directions, ``LanguageTags`` replace
            the source's ``</s>`` and the target's ``<s>``, and count as those.
        src_lengths: (B,) tokens of each source row, ``</s>`` counted.
        tgt_lengths: (B,) tokens of each target row, ``<s>`` and ``</s>`` counted.
        index: (B,) position of each pair in the corpus.
        host_lengths: (2, B) both lengths again, in the CPU's memory, where reading them waits for no device.
        step_tokens: (2,) source pieces (without ``</s>``) and predicted target tokens (without ``<s>``) of the whole
            optimizer step that this batch belongs to, over all its accumulated batches and ranks.
    """

    src: Tensor
    tgt: Tensor
    src_lengths: Tensor
    tgt_lengths: Tensor
    index: Tensor
    host_lengths: NDArray[np.int64]
    step_tokens: Tensor

    @classmethod
    def from_ids(
        cls,
        src: Sequence[Sequence[int]],
        tgt: Sequence[Sequence[int]],
        index: Sequence[int] | None = None,
        tags: Sequence[LanguageTags] | None = None,
    ) -> Batch:
        """Make a batch of bare pieces (no special ids); add ``<s>`` and ``</s>`` or each pair's language tags, and pad.

        ``step_tokens`` counts this batch alone.
        """
        tags = [LanguageTags()] * len(src) if tags is None else tags
        rows_src = [torch.tensor([*ids, tag.src_end]) for ids, tag in zip(src, tags, strict=True)]
        rows_tgt = [torch.tensor([tag.tgt_begin, *ids, EOS]) for ids, tag in zip(tgt, tags, strict=True)]
        src_lengths = torch.tensor([len(row) for row in rows_src])
        tgt_lengths = torch.tensor([len(row) for row in rows_tgt])
        return cls(
            src=pad_sequence(rows_src, batch_first=True, padding_value=PAD),
            tgt=pad_sequence(rows_tgt, batch_first=True, padding_value=PAD),
            src_lengths=src_lengths,
            tgt_lengths=tgt_lengths,
            index=torch.arange(len(rows_src)) if index is None else torch.tensor(list(index)),
            host_lengths=torch.stack([src_lengths, tgt_lengths]).numpy(),
            step_tokens=torch.stack([(src_lengths - 1).sum(), (tgt_lengths - 1).sum()]),
        )

    def __len__(self) -> int:
        return self.src.shape[0]

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Batch:
        return self._each(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Batch:
        return self._each(Tensor.pin_memory)

    def _each(self, move: Callable[[Tensor], Tensor]) -> Batch:
        tensors: dict[str, Any] = {name: move(x) for name, x in vars(self).items() if isinstance(x, Tensor)}
        return replace(self, **tensors)


@dataclass
class Prediction:
    """What a model predicts of a batch: the N positions that carry a target, without padding.

    First come the targets that are source tokens, then those that are target tokens; each by sentence, then by
    position. The logits are ``hidden @ weight.T``. The loss computes them in chunks, so that they never exist as a
    whole.

    Attributes:
        hidden: (N, D) final hidden vectors.
        weight: (V, D) the output projection.
        targets: (N,) the ids to predict.
        num_source: number of targets that are source tokens (the terms of ``L_AE``). A model that predicts them
            predicts exactly ``src_lengths - 1`` per sentence; the others predict none.
    """

    hidden: Tensor
    weight: Tensor
    targets: Tensor
    num_source: int
