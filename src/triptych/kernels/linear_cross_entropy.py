"""Cross-entropy of a linear layer in chunks, whose (N, V) logits never exist whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from triptych.kernels.rows import ROWS

CHUNK_ELEMENTS = {"cpu": 4_000_000, "cuda": 64_000_000}
"""Logits that exist at one time, by device: enough to keep a matrix product busy, too few to matter beside the
activations."""
PART_ELEMENTS = {"cpu": 500_000, "cuda": 64_000_000}
"""Logits that become their gradient at one time: in single precision few enough for a CPU's caches, and for the holes
that the activations leave in its memory, since new memory costs more than the arithmetic."""


def chunk_cross_entropy(
    logits: Tensor, targets: Tensor, smoothing: Tensor, with_gradient: bool
) -> tuple[Tensor, Tensor]:
    """The loss of some logits, which become its gradient.

    Args:
        logits: (n, V), overwritten by softmax less the smoothed target, where the gradient is wanted.
        targets: (n, 1) ids.
        smoothing: (n,) eps of each.
        with_gradient: whether it is.

    Returns:
        Each token's loss (n,) and negative log-likelihood (n,), at least in single precision.
    """
    log_probs = logits.log_softmax(dim=-1, dtype=accumulation_dtype(logits.dtype))
    at_target = log_probs.gather(1, targets)
    nll = -at_target.squeeze(1)
    loss = (1 - smoothing) * nll - smoothing * log_probs.mean(dim=-1)
    if with_gradient:
        share = (smoothing / logits.shape[1])[:, None]
        room = logits if logits.dtype == log_probs.dtype else log_probs
        gradient = torch.exp(log_probs, out=room).sub_(share)
        # Before the cast: a CPU scatters into half precision by way of a copy.
        gradient.scatter_(1, targets, at_target.exp() - share + (smoothing - 1)[:, None])
        if gradient.dtype != logits.dtype:
            logits.copy_(gradient)
    return loss, nll


def accumulation_dtype(dtype: torch.dtype) -> torch.dtype:
    """Single precision, or double where the model computes in it."""
    return torch.promote_types(dtype, torch.float32)


ChunkLoss = Callable[[Tensor, Tensor, Tensor, bool], tuple[Tensor, Tensor]]


def linear_cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    token_weights: Tensor,
    smoothing: Tensor,
    of_chunk: ChunkLoss = chunk_cross_entropy,
) -> tuple[Tensor, Tensor]:
    """Weighted cross-entropy of ``hidden @ weight.T``, whose (N, V) logits never exist whole.

    Rows of zeros, which weigh nothing, fill N up to a multiple of ``ROWS``, for the sake of products' kernels.

    A token's loss is (1 - eps) * -log p(target) + eps * mean over the vocabulary of -log p (Szegedy et al. 2016).

    Args:
        hidden: (N, D).
        weight: (V, D).
        targets: (N,) ids.
        token_weights: (N,) what each token's loss counts in the sum.
        smoothing: (N,) eps of each token.
        of_chunk: ``chunk_cross_entropy``, or what it was compiled to.

    Returns:
        The weighted sum (), and each token's negative log-likelihood (N,), without a gradient.
    """
    count, filling = len(hidden), -len(hidden) % ROWS
    hidden = F.pad(hidden, (0, 0, 0, filling))
    targets, token_weights, smoothing = (F.pad(x, (0, filling)) for x in (targets, token_weights, smoothing))
    with_gradient = torch.is_grad_enabled()
    loss, nll = _LinearCrossEntropy.apply(hidden, weight, targets, token_weights, smoothing, of_chunk, with_gradient)
    return loss, nll[:count]


class _LinearCrossEntropy(torch.autograd.Function):
    """The gradient is made in the forward pass, while a chunk's logits are at hand; the backward pass scales it."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        targets: Tensor,
        token_weights: Tensor,
        smoothing: Tensor,
        of_chunk: ChunkLoss,
        with_gradient: bool,
    ) -> tuple[Tensor, Tensor]:
        device = hidden.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
        low_weight = weight.to(dtype)
        losses, nll = (hidden.new_empty(len(hidden), dtype=accumulation_dtype(dtype)) for _ in range(2))
        grad_hidden = torch.empty_like(hidden) if with_gradient else None
        grad_weight = torch.zeros_like(weight) if with_gradient else None
        rows, part_rows = (
            max(1, elements.get(device, elements["cpu"]) // len(weight)) for elements in (CHUNK_ELEMENTS, PART_ELEMENTS)
        )
        rows = max(ROWS, rows // ROWS * ROWS)
        unit = token_weights.max()  # kept out of what half precision holds, where a token's share would vanish
        with torch.autocast(device, enabled=False):
            for first in range(0, len(hidden), rows):
                last = min(first + rows, len(hidden))
                chunk = slice(first, last)
                logits = hidden[chunk].to(dtype) @ low_weight.T
                for i in range(first, last, part_rows):
                    part = slice(i, min(i + part_rows, last))
                    of_part = logits[i - first : part.stop - first]
                    losses[part], nll[part] = of_chunk(of_part, targets[part, None], smoothing[part], with_gradient)
                if grad_hidden is not None and grad_weight is not None:
                    share = (token_weights[chunk] / unit)[:, None]
                    grad_hidden[chunk] = (logits @ low_weight) * share
                    grad_weight += logits.T @ (hidden[chunk] * share).to(dtype)
        ctx.save_for_backward(grad_hidden, grad_weight, unit)
        ctx.mark_non_differentiable(nll)
        return (token_weights * losses).sum(), nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_loss: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        grad_hidden, grad_weight, unit = ctx.saved_tensors
        scale = unit * grad_loss
        return grad_hidden * scale, grad_weight * scale, None, None, None, None, None
