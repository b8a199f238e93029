"""Matrix products in a loop of decoding steps, with one gradient per matrix for all steps together.

Autograd makes a gradient of the matrix's size at every step and adds it to the previous one, and autocast casts the
matrix at every step. For a decoder's weights, and for the memory that it attends to, that is much of the loop's time.

Equations call ``matmul`` wherever they are. It is a plain product, except within ``loop_products``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from triptych import kernels
from triptych.kernels.precision import autocast_dtype

Key = tuple[int, tuple[int, ...], tuple[int, ...]]
_loop: ContextVar[LoopMatmul | None] = ContextVar("loop", default=None)
"""The loop that runs, if one does."""


def matmul(x: Tensor, matrix: Tensor) -> Tensor:
    """Return the product (…, B, O) of x (…, B, I) and a matrix (…, I, O), as ``torch.matmul`` does.

    Within ``loop_products``, the gradient of a matrix of the loop is made once for all steps. Compiled code always has
    the plain product.
    """
    loop = None if torch.compiler.is_compiling() else _loop.get()
    return x @ matrix if loop is None else loop(x, matrix)


@contextmanager
def loop_products_reference(matrices: Sequence[Tensor], start: Tensor) -> Iterator[Tensor]:
    """``loop_products`` by PyTorch: plain products, whose gradients autograd adds step by step."""
    yield start


@contextmanager
def loop_products(matrices: Sequence[Tensor], start: Tensor) -> Iterator[Tensor]:
    """Run a loop of steps that all multiply by the same matrices.

        with loop_products([W], s) as s:
            for x in inputs:
                s = torch.tanh(x + matmul(s, W))

    Args:
        matrices: (…, I, O) each; the gradients of products with other matrices are autograd's own.
        start: what the loop starts from.

    Yields:
        ``start``, as the loop must take it: every factor of a matrix must depend on it.
    """
    if not (kernels.fast() and torch.is_grad_enabled()):
        with loop_products_reference(matrices, start) as start:
            yield start
        return
    loop = LoopMatmul(matrices)
    token = _loop.set(loop)
    try:
        yield loop.begin(start)
    finally:
        _loop.reset(token)


class LoopMatmul:
    """Products in the precision of autocast, with gradients that are made once.

    The backward pass reaches ``begin`` last. By then the inputs and gradients of all products are there, and one
    product of all of them together gives a matrix's gradient.

    Args:
        matrices: (…, I, O) each; products with other matrices are autograd's own.
    """

    def __init__(self, matrices: Sequence[Tensor]) -> None:
        dtype = autocast_dtype(matrices[0].device)
        low = [matrix.detach().to(dtype or matrix.dtype) for matrix in matrices]
        self._matrices = matrices
        self._low = {_key(matrix): one for matrix, one in zip(matrices, low, strict=True)}
        self._seen: dict[Key, list[tuple[Tensor, Tensor]]] = {key: [] for key in self._low}

    def begin(self, x: Tensor) -> Tensor:
        """Return x. The loop must start from the result."""
        return _Begin.apply(x, self, *self._matrices)

    def __call__(self, x: Tensor, matrix: Tensor) -> Tensor:
        key = _key(matrix)
        if key not in self._low or not x.requires_grad:
            return x @ matrix
        return _Product.apply(x, self._low[key], self._seen[key])

    def gradients(self) -> list[Tensor | None]:
        """Return the gradient of each matrix, from the products that went backward since the last call; None if none
        did."""
        return [self._gradient(matrix) for matrix in self._matrices]

    def _gradient(self, matrix: Tensor) -> Tensor | None:
        pairs, self._seen[_key(matrix)] = self._seen[_key(matrix)], []
        if not pairs:
            return None
        if matrix.dim() == 2:
            pairs = [(inputs.flatten(0, -2), gradient.flatten(0, -2)) for inputs, gradient in pairs]
        inputs, gradients = (torch.cat(side, dim=-2) for side in zip(*pairs, strict=True))
        return (inputs.transpose(-2, -1) @ gradients).to(matrix.dtype)


def _key(matrix: Tensor) -> Key:
    """Return what identifies a view of a tensor that is made again at every step."""
    return matrix.data_ptr(), tuple(matrix.shape), matrix.stride()


class _Begin(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, products: LoopMatmul, *matrices: Tensor) -> Tensor:
        ctx.products = products
        return x.view_as(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return grad, None, *ctx.products.gradients()


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, low: Tensor, seen: list[tuple[Tensor, Tensor]]) -> Tensor:
        inputs = x.to(low.dtype)
        ctx.save_for_backward(inputs)
        ctx.low, ctx.seen, ctx.dtype = low, seen, x.dtype
        return inputs @ low

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (inputs,) = ctx.saved_tensors
        ctx.seen.append((inputs.detach(), grad))
        return (grad @ ctx.low.transpose(-2, -1)).to(ctx.dtype), None, None
