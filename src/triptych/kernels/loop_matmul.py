"""What every step of a loop multiplies by, whose gradient is made once, of all steps together.

Autograd makes a gradient of the matrix's size at every step, and adds it to the one before; autocast casts the matrix
at every step. Of a decoder's weights, and of the memory that it attends to, that is a good part of the loop's time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Product = Callable[[Tensor, Tensor], Tensor]
"""(…, B, I) by a matrix (…, I, O): ``torch.matmul``, or ``Shared`` in a loop that is trained."""
Key = tuple[int, tuple[int, ...], tuple[int, ...]]


class Shared:
    """The products of a loop, in the precision of autocast.

    The loop must start from what ``begin`` returns, and whatever it multiplies must depend on that: the backward pass
    comes to the beginning last, when the inputs and gradients of all products are there.

    Args:
        matrices: (…, I, O) that every step multiplies by.
    """

    def __init__(self, matrices: Sequence[Tensor]) -> None:
        device = matrices[0].device.type
        enabled = torch.is_autocast_enabled(device)
        low = [matrix.detach().to(torch.get_autocast_dtype(device) if enabled else matrix.dtype) for matrix in matrices]
        self._matrices = matrices
        self._low = {_key(matrix): one for matrix, one in zip(matrices, low, strict=True)}
        self._seen: dict[Key, list[tuple[Tensor, Tensor]]] = {key: [] for key in self._low}

    def begin(self, x: Tensor) -> Tensor:
        """``x``, from which the loop must start."""
        return _Begin.apply(x, self, *self._matrices)

    def __call__(self, x: Tensor, matrix: Tensor) -> Tensor:
        """The product (…, B, O) of ``x`` (…, B, I) and one of the matrices; any other's is autograd's own."""
        key = _key(matrix)
        if key not in self._low or not x.requires_grad:
            return x @ matrix
        return _Product.apply(x, self._low[key], self._seen[key])

    def gradients(self) -> list[Tensor | None]:
        """Of the matrices, each of all products that went backward since the last time; None where there were none."""
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
    """What tells views apart that are made anew."""
    return matrix.data_ptr(), tuple(matrix.shape), matrix.stride()


class _Begin(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, shared: Shared, *matrices: Tensor) -> Tensor:
        ctx.shared = shared
        return x.view_as(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return grad, None, *ctx.shared.gradients()


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
