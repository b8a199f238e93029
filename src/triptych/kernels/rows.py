"""Gather and scatter rows, each at most once, so that the gradient is a copy as well."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from triptych import kernels

ROWS = 64
"""Rows of a matrix product come in multiples of this. Kernels are fastest with sizes that recur: oneDNN builds one for
every size that it meets, which takes time and scatters a CPU's memory."""
COLUMNS = 8
"""Positions of a padded batch come in multiples of this; cuBLAS is slower where sizes are no multiples of eight."""


def gather_rows_reference(x: Tensor, rows: Tensor) -> Tensor:
    """``gather_rows`` by PyTorch, whose gradient adds row by row."""
    return x.index_select(0, rows)


def gather_rows(x: Tensor, rows: Tensor) -> Tensor:
    """Return the rows (R,) of x (N, …), each chosen at most once, as (R, …)."""
    return _Gather.apply(x, rows) if kernels.fast() else gather_rows_reference(x, rows)


def scatter_rows_reference(x: Tensor, rows: Tensor, count: int) -> Tensor:
    """``scatter_rows`` by PyTorch."""
    return x.new_zeros(count, *x.shape[1:]).index_copy(0, rows, x)


def scatter_rows(x: Tensor, rows: Tensor, count: int) -> Tensor:
    """Put the rows of x (R, …) at the indices rows (R,), all different, of a tensor of zeros (count, …)."""
    return _Scatter.apply(x, rows, count) if kernels.fast() else scatter_rows_reference(x, rows, count)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.count = len(x)
        return x.index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _Scatter.apply(grad, ctx.saved_tensors[0], ctx.count), None


class _Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor, count: int) -> Tensor:
        ctx.save_for_backward(rows)
        zeros = x.new_zeros(count, *x.shape[1:])
        # In place saves a copy, but gives a function that PyTorch 2.11 compiles no gradient.
        return zeros.index_copy(0, rows, x) if torch.compiler.is_compiling() else zeros.index_copy_(0, rows, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return _Gather.apply(grad, ctx.saved_tensors[0]), None, None
