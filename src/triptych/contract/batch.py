"""Batch and Prediction: the input and the output of every architecture.

Shapes: B sentence pairs, S source and T target positions, N predicted tokens, D features, V vocabulary pieces.
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
    """Sentence pairs, padded on the right.

    Attributes:
        src: (B, S) source ids; each row ends in ``</s>``.
        tgt: (B, T) target ids; each row is ``<s> … </s>``. With several directions, language tags take the place of
            the source's ``</s>`` and of the target's ``<s>`` (see ``LanguageTags``) and are counted in the same way.
        src_lengths: (B,) number of tokens in each source row, ``</s>`` counted.
        tgt_lengths: (B,) number of tokens in each target row, ``<s>`` and ``</s>`` counted.
        index: (B,) position of each pair in the corpus.
        host_lengths: (2, B) both lengths again, in CPU memory, so that computing a size from them never synchronises
            with the device.
        step_tokens: (2,) number of source pieces (without ``</s>``) and of predicted target tokens (without ``<s>``)
            in the whole optimizer step of this batch, summed over its accumulated batches and ranks.
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
        """Build a padded batch from ids without special ids.

        Adds ``<s>`` and ``</s>``, or the language tags of each pair instead. ``step_tokens`` counts this batch only.

        Args:
            src: source ids of each pair; ``tgt`` likewise.
            index: positions of the pairs in the corpus; None for 0, 1, 2, …
            tags: language tags of each pair; None for ``</s>`` and ``<s>``.
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

    @property
    def description(self) -> str:
        """Number and lengths of its pairs, in words."""
        src, tgt = self.src.shape[1], self.tgt.shape[1]
        pairs = "1 pair" if len(self) == 1 else f"{len(self)} pairs"
        return f"{pairs} of up to {src} source and {tgt} target tokens"

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Batch:
        """Return a copy with all tensors on a device. ``host_lengths`` stays in CPU memory."""
        return self._map_tensors(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Batch:
        """Return a copy in page-locked memory. PyTorch's data loader calls this."""
        return self._map_tensors(Tensor.pin_memory)

    def _map_tensors(self, function: Callable[[Tensor], Tensor]) -> Batch:
        tensors: dict[str, Any] = {name: function(x) for name, x in vars(self).items() if isinstance(x, Tensor)}
        return replace(self, **tensors)


@dataclass
class Prediction:
    """Hidden vectors and targets of the N predicted tokens, without padding.

    The predicted source tokens come first, then the predicted target tokens, both ordered by sentence and position.
    Logits are ``hidden @ weight.T``. The loss computes them in chunks and never stores all of them.

    Attributes:
        hidden: (N, D) final hidden vectors.
        weight: (V, D) output projection.
        targets: (N,) ids to predict.
        num_source: number of predicted source tokens, the first of ``targets`` (they make up the loss ``L_AE``). A
            model that predicts the source predicts exactly ``src_lengths - 1`` tokens of each sentence; for other
            models the number is 0.
    """

    hidden: Tensor
    weight: Tensor
    targets: Tensor
    num_source: int
