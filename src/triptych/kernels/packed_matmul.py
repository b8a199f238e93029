"""Products with a weight that stays the same for many steps, such as the output projection's in a search."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

from triptych import kernels

MIN_ROWS = 64
"""Fewest rows that a weight is packed for. Packing takes about as long as the product of so many rows."""

_packed: ContextVar[dict[Tensor, Tensor] | None] = ContextVar("packed", default=None)


@contextmanager
def constant_weights() -> Iterator[None]:
    """Let ``packed_matmul`` keep copies of weights, laid out as oneDNN reads them. No weight may change inside.

    Inside of another such block, the copies of that one are used. Threads that are given a copy of the context share
    them.
    """
    if _packed.get() is not None:
        yield
        return
    before = _packed.set({})
    try:
        yield
    finally:
        _packed.reset(before)


def packed_matmul_reference(x: Tensor, weight: Tensor) -> Tensor:
    """``packed_matmul`` by PyTorch's choice of library, which packs the weight at every call."""
    return x @ weight.T


def packed_matmul(x: Tensor, weight: Tensor) -> Tensor:
    """Return x @ weight.T, (R, D) by (V, D): (R, V). Inside of ``constant_weights`` the weight is packed once."""
    packed = _packed.get()
    if packed is None or not _is_possible(x, weight) or (len(x) < MIN_ROWS and weight not in packed):
        return packed_matmul_reference(x, weight)
    if weight not in packed:
        packed[weight] = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), len(x))
    return torch.ops.mkldnn._linear_pointwise(x, packed[weight], None, "none", [], "")


def _is_possible(x: Tensor, weight: Tensor) -> bool:
    return (
        kernels.fast()
        and x.is_cpu
        and x.dtype == weight.dtype == torch.float32
        and torch.backends.mkldnn.is_available()
        and not torch.is_autocast_enabled("cpu")
        and not torch.is_grad_enabled()
    )
