"""Linear layers whose weights stay the same for many calls, such as those of a search."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from triptych import kernels

MIN_ROWS = 64
"""Fewest rows that a weight is packed for. Packing takes about as long as the product of so many rows."""

_packed: ContextVar[dict[Tensor, Tensor] | None] = ContextVar("packed", default=None)


@contextmanager
def constant_weights() -> Iterator[None]:
    """Let ``packed_linear`` keep copies of weights, laid out as oneDNN reads them. No weight may change inside.

    Until the block ends, a weight then takes twice its memory. Inside of another such block, the copies of that one are
    used. Threads that are given a copy of the context share them; those that start together may each pack a weight.
    """
    if _packed.get() is not None:
        yield
        return
    before = _packed.set({})
    try:
        yield
    finally:
        _packed.reset(before)


def packed_linear_reference(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``packed_linear`` by PyTorch's choice of library, which packs the weight at every call."""
    return F.linear(x, weight, bias)


def packed_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x W^T + b, for x (…, I), W (O, I) and b (O,): (…, O). Inside of ``constant_weights`` W is packed once."""
    packed = None if torch.compiler.is_compiling() else _packed.get()
    if packed is None or not _is_possible(x, weight):
        return packed_linear_reference(x, weight, bias)
    if weight not in packed:
        if (rows := x.numel() // x.shape[-1]) < MIN_ROWS:
            return packed_linear_reference(x, weight, bias)
        packed[weight] = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), rows)
    return torch.ops.mkldnn._linear_pointwise(x, packed[weight], bias, "none", [], "")


class Linear(nn.Linear):
    """``nn.Linear`` by ``packed_linear``."""

    def forward(self, x: Tensor) -> Tensor:
        return packed_linear(x, self.weight, self.bias)


def _is_possible(x: Tensor, weight: Tensor) -> bool:
    return (
        kernels.fast()
        and x.is_cpu
        and x.dtype == weight.dtype == torch.float32
        and torch.backends.mkldnn.is_available()
        and not torch.is_autocast_enabled("cpu")
        and not torch.is_grad_enabled()
    )
