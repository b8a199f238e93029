"""Sentences end to end, without padding: what all of a Transformer but its attention runs over.

B sentences, padded to T positions each, N tokens in all. Some positions of padding fill N up to R rows, a multiple of
``ROWS`` where there is enough padding, and a Transformer that trains widens T to a multiple of ``COLUMNS``. Kernels
want sizes that return: oneDNN makes one for every size that it meets, which takes time, and memory that then lies
between the tensors of later steps; cuBLAS is slower where sizes are no multiples of eight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from triptych.contract.batch import Batch
from triptych.contract.vocabulary import PAD
from triptych.kernels.rows import COLUMNS, ROWS, ScatterRows, select


def wide(width: int) -> int:
    """The multiple of ``COLUMNS`` that holds so many."""
    return width + -width % COLUMNS


def widen(ids: Tensor) -> Tensor:
    """(B, T) ids, with as much more padding as makes T a multiple of ``COLUMNS``."""
    return F.pad(ids, (0, wide(ids.shape[1]) - ids.shape[1]), value=PAD)


@dataclass(frozen=True)
class Packing:
    """How the tokens of a padded (B, T) lie end to end.

    Attributes:
        size: B and T.
        places: (R,) where each row stands in the flattened (B * T), tokens first; None where there is no padding.
        filling: R - N.
    """

    size: tuple[int, int]
    places: Tensor | None = None
    filling: int = 0

    @classmethod
    def of(cls, lengths: Tensor, host_lengths: NDArray[np.int64], width: int) -> Packing:
        """Of sentences of these lengths (B,), known to the host as well, that are padded to ``width``."""
        most, count = len(lengths) * width, int(host_lengths.sum())
        if count == most:
            return cls((len(lengths), width))
        seen = visible(lengths, width)
        filling = min(-count % ROWS, most - count)
        return cls((len(lengths), width), torch.cat([places(seen, count), places(~seen, filling)]), filling)

    def pack(self, x: Tensor) -> Tensor:
        """(B, T, …) to (R, …)."""
        x = x.flatten(0, 1)
        return x if self.places is None else select(x, self.places)

    def tokens(self, x: Tensor) -> Tensor:
        """(R, …) to (N, …), without what fills it up."""
        return x[: len(x) - self.filling]

    def pad(self, x: Tensor) -> Tensor:
        """(R, …) to (B, T, …), zero on padding that has no row."""
        if self.places is not None:
            x = ScatterRows.apply(x, self.places, self.size[0] * self.size[1])
        return x.unflatten(0, self.size)


def visible(lengths: Tensor, width: int) -> Tensor:
    """(B, T), True where sentences of lengths (B,), padded to ``width``, have a token."""
    return torch.arange(width, device=lengths.device) < lengths[:, None]


def padding_mask(tokens: Tensor, lengths: Tensor) -> Tensor:
    """(B, 1, 1, T), True where tokens (B, T) are none of the padding after lengths (B,)."""
    return visible(lengths, tokens.shape[1])[:, None, None]


def keep_targets(x: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Of decoder outputs x (B, T - 1, D), the N that predict a target token: (N, D), and their targets (N,)."""
    packing = Packing.of(batch.tgt_lengths - 1, batch.host_lengths[1] - 1, x.shape[1])
    return packing.tokens(packing.pack(x)), packing.tokens(packing.pack(batch.tgt[:, 1:]))


def places(where: Tensor, count: int) -> Tensor:
    """(count,) where a tensor is True; knowing how often that is, it does not wait for the device."""
    return torch.nonzero_static(where.flatten(), size=count).squeeze(1)
