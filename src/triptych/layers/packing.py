"""Sentences end to end, without padding: what all of a Transformer but its attention runs over.

B sentences, padded to T positions each, N tokens in all. Some positions of padding fill N up to R rows, a multiple of
``ROWS`` where there is enough padding, and a Transformer that trains widens T to a multiple of ``COLUMNS``. Kernels
want sizes that return: oneDNN makes one for every size that it meets, which takes time, and memory that then lies
between the tensors of later steps; cuBLAS is slower where sizes are no multiples of eight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from triptych.vocabulary import PAD

ROWS = 64
COLUMNS = 8


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
            x = _Pad.apply(x, self.places, self.size[0] * self.size[1])
        return x.unflatten(0, self.size)


def visible(lengths: Tensor, width: int) -> Tensor:
    """(B, T), True where sentences of lengths (B,), padded to ``width``, have a token."""
    return torch.arange(width, device=lengths.device) < lengths[:, None]


def places(where: Tensor, count: int) -> Tensor:
    """(count,) where a tensor is True; knowing how often that is, it does not wait for the device."""
    return torch.nonzero_static(where.flatten(), size=count).squeeze(1)


def select(x: Tensor, rows: Tensor) -> Tensor:
    """Rows of x, each at most once, so that the gradient is a copy too, where PyTorch's own adds row by row."""
    return _Select.apply(x, rows)


class _Select(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.count = len(x)
        return x.index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _Pad.apply(grad, ctx.saved_tensors[0], ctx.count), None


class _Pad(torch.autograd.Function):
    """Puts rows among zeros."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor, count: int) -> Tensor:
        ctx.save_for_backward(rows)
        return x.new_zeros(count, *x.shape[1:]).index_copy_(0, rows, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return _Select.apply(grad, ctx.saved_tensors[0]), None, None
