"""Cross-entropy of a linear layer in chunks, so that the (N, V) logits never exist as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from triptych import kernels
from triptych.kernels.precision import autocast_dtype, without_autocast
from triptych.kernels.rows import ROWS

CHUNK_ELEMENTS = {"cpu": 16_000_000, "cuda": 64_000_000, "meta": 64_000_000}
"""Number of logits that exist at one time, by device: enough to keep a matrix product busy and to add few gradients of
the weight, and little memory beside the activations."""
PART_ELEMENTS = {"cpu": 500_000, "cuda": 64_000_000, "meta": 64_000_000}
"""Number of logits turned into gradients per pass: few enough on a CPU to stay in its cache and to reuse the memory of
freed activations."""

ChunkLoss = Callable[[Tensor, Tensor, Tensor, bool], tuple[Tensor, Tensor]]


def linear_cross_entropy_reference(
    hidden: Tensor, weight: Tensor, targets: Tensor, token_weights: Tensor, smoothing: Tensor
) -> tuple[Tensor, Tensor]:
    """``linear_cross_entropy`` with all logits at once."""
    logits = hidden @ weight.T
    log_probs = logits.log_softmax(dim=-1, dtype=accumulation_dtype(logits.dtype))
    nll = -log_probs.gather(1, targets[:, None]).squeeze(1)
    losses = (1 - smoothing) * nll - smoothing * log_probs.mean(dim=-1)
    return (token_weights * losses).sum(), nll.detach()


def linear_cross_entropy(
    hidden: Tensor, weight: Tensor, targets: Tensor, token_weights: Tensor, smoothing: Tensor
) -> tuple[Tensor, Tensor]:
    """Weighted cross-entropy of the logits ``hidden @ weight.T``, with label smoothing.

    A token's loss is (1 - eps) * -log p(target) + eps * mean over the vocabulary of -log p (Szegedy et al. 2016).

    Args:
        hidden: (N, D).
        weight: (V, D).
        targets: (N,) ids.
        token_weights: (N,) weight of each token's loss in the sum.
        smoothing: (N,) eps of each token.

    Returns:
        The weighted sum (), and each token's negative log-likelihood (N,), without a gradient.
    """
    return LinearCrossEntropy()(hidden, weight, targets, token_weights, smoothing)


class LinearCrossEntropy(nn.Module):
    """``linear_cross_entropy`` as a module that can be compiled."""

    def __init__(self) -> None:
        super().__init__()
        self._compiled: ChunkLoss | None = None

    def forward(
        self, hidden: Tensor, weight: Tensor, targets: Tensor, token_weights: Tensor, smoothing: Tensor
    ) -> tuple[Tensor, Tensor]:
        if not kernels.fast():
            return linear_cross_entropy_reference(hidden, weight, targets, token_weights, smoothing)
        # Rows of zeros with weight zero fill N up to a multiple of ROWS.
        count, filling = len(hidden), -len(hidden) % ROWS
        hidden = F.pad(hidden, (0, 0, 0, filling))
        targets, token_weights, smoothing = (F.pad(x, (0, filling)) for x in (targets, token_weights, smoothing))
        chunk_loss = self._compiled or chunk_cross_entropy
        with_gradient = torch.is_grad_enabled()
        loss, nll = _ChunkedLinearCrossEntropy.apply(
            hidden, weight, targets, token_weights, smoothing, chunk_loss, with_gradient
        )
        return loss, nll[:count]

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile what lies between the matrix products, which then reads and writes the logits less often."""
        self._compiled = torch.compile(chunk_cross_entropy, *args, **kwargs)


def chunk_cross_entropy(
    logits: Tensor, targets: Tensor, smoothing: Tensor, with_gradient: bool
) -> tuple[Tensor, Tensor]:
    """Loss of a chunk of logits, which are overwritten by their gradient.

    Args:
        logits: (n, V); where a gradient is wanted, overwritten by the softmax minus the smoothed target.
        targets: (n, 1) ids.
        smoothing: (n,) eps of each token.
        with_gradient: whether a gradient is wanted.

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
    """Return single precision, or double where the model computes in it."""
    return torch.promote_types(dtype, torch.float32)


class _ChunkedLinearCrossEntropy(torch.autograd.Function):
    """The forward pass makes the gradient while a chunk's logits exist; the backward pass scales it."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        targets: Tensor,
        token_weights: Tensor,
        smoothing: Tensor,
        chunk_loss: ChunkLoss,
        with_gradient: bool,
    ) -> tuple[Tensor, Tensor]:
        device = hidden.device.type
        dtype = autocast_dtype(hidden.device) or hidden.dtype
        low_weight = weight.to(dtype)
        losses, nll = (hidden.new_empty(len(hidden), dtype=accumulation_dtype(dtype)) for _ in range(2))
        grad_hidden = torch.empty_like(hidden) if with_gradient else None
        grad_weight = None  # summed over chunks, so in single precision at least
        if with_gradient:
            grad_weight = torch.zeros(weight.shape, dtype=accumulation_dtype(weight.dtype), device=weight.device)
        rows, part_rows = (
            max(1, elements.get(device, elements["cpu"]) // len(weight)) for elements in (CHUNK_ELEMENTS, PART_ELEMENTS)
        )
        rows = max(ROWS, rows // ROWS * ROWS)
        unit = token_weights.max()  # kept out of half precision, in which a token's share would vanish
        with without_autocast(hidden.device):
            for first in range(0, len(hidden), rows):
                last = min(first + rows, len(hidden))
                chunk = slice(first, last)
                logits = hidden[chunk].to(dtype) @ low_weight.T
                for i in range(first, last, part_rows):
                    part = slice(i, min(i + part_rows, last))
                    part_logits = logits[i - first : part.stop - first]
                    losses[part], nll[part] = chunk_loss(
                        part_logits, targets[part, None], smoothing[part], with_gradient
                    )
                if grad_hidden is not None and grad_weight is not None:
                    share = (token_weights[chunk] / unit)[:, None]
                    grad_hidden[chunk] = (logits @ low_weight) * share
                    grad_weight += logits.T @ (hidden[chunk] * share).to(dtype)
        if grad_weight is not None:
            grad_weight = grad_weight.to(weight.dtype)
        ctx.save_for_backward(grad_hidden, grad_weight, unit)
        ctx.mark_non_differentiable(nll)
        return (token_weights * losses).sum(), nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_loss: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        grad_hidden, grad_weight, unit = ctx.saved_tensors
        scale = unit * grad_loss
        return grad_hidden * scale, grad_weight * scale, None, None, None, None, None
