"""Gather and scatter of rows, each at most once, so that the gradient is a copy too."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

ROWS = 64
COLUMNS = 8


def select(x: Tensor, rows: Tensor) -> Tensor:
    """Rows of x, each at most once, so that the gradient is a copy too, where PyTorch's own adds row by row."""
    return _Gather.apply(x, rows)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.count = len(x)
        return x.index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ScatterRows.apply(grad, ctx.saved_tensors[0], ctx.count), None


class ScatterRows(torch.autograd.Function):
    """Puts rows among zeros."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor, count: int) -> Tensor:
        ctx.save_for_backward(rows)
        return x.new_zeros(count, *x.shape[1:]).index_copy_(0, rows, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return _Gather.apply(grad, ctx.saved_tensors[0]), None, None
