"""Dropout (Srivastava et al. 2014) with masks that are cheap to draw on a CPU."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import record_function

from triptych import kernels

LEVELS = 2**16


def dropout_reference(x: Tensor, p: float) -> Tensor:
    """``dropout`` with PyTorch's own masks, which differ from the kernel's."""
    return F.dropout(x, p)


def dropout(x: Tensor, p: float) -> Tensor:
    """Set elements to zero with probability p, and multiply the others by 1 / (1 - p).

    PyTorch's CPU kernel draws one random number per element. Here one draw of 64 bits decides over four elements, which
    takes an eighth of the time: an element is dropped where its 16 bits are below p · 2^16. So p is rounded to a
    multiple of 2^-16, and the scale is that of the rounded p. PyTorch's default generator seeds every mask; NumPy's
    SFC64 generator draws it. Other devices and compiled code use the reference.

    Args:
        x: any shape, floating point.
        p: in [0, 1).

    Returns:
        The shape and type of ``x``.
    """
    if not x.is_cpu or torch.compiler.is_compiling() or not kernels.fast():
        return dropout_reference(x, p)
    dropped = min(round(p * LEVELS), LEVELS - 1)
    with record_function("dropout"):  # a profile would not see what NumPy does
        seed = int(torch.randint(2**63 - 1, ()))
        draws = np.random.SFC64(seed).random_raw(-(-x.numel() // 4))
        levels = torch.from_numpy(draws.view(np.int16))[: x.numel()].view(x.shape)
        mask = torch.ge(levels, dropped - LEVELS // 2, out=torch.empty(x.shape, dtype=x.dtype))
        return x * mask.mul_(LEVELS / (LEVELS - dropped))


class Dropout(nn.Module):
    """``dropout`` in training, the identity in evaluation."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p) if self.training and self.p else x
