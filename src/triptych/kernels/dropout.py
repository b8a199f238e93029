"""Dropout (Srivastava et al. 2014) with masks that are cheap to draw on a CPU."""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import record_function

from triptych import kernels

LEVELS = 2**16
"""p is rounded to a multiple of 1 / LEVELS."""
BYTE = 2**8


def dropout_reference(x: Tensor, p: float) -> Tensor:
    """``dropout`` with PyTorch's own masks, which differ from the kernel's."""
    return F.dropout(x, p)


def dropout(x: Tensor, p: float) -> Tensor:
    """Set elements to zero with probability p, and multiply the others by 1 / (1 - p).

    PyTorch's CPU kernel draws one random number per element. Here one draw of 64 bits decides over eight elements: an
    element is dropped where its byte is below a threshold, p · 2^8 rounded up or down. Each column draws whether up or
    down, so that an element is dropped with probability p, rounded to a multiple of 2^-16; the scale is that of the
    rounded p. The elements of a column share its threshold, so they are not quite independent: at p = 0.1 their
    correlation is 4e-5. PyTorch's default generator seeds every mask; NumPy's SFC64 generator draws it. Other devices,
    compiled code and p above 255/256 use the reference.

    Args:
        x: any shape, floating point; columns are those of the last dimension.
        p: in [0, 1).

    Returns:
        The shape and type of ``x``.
    """
    dropped = round(p * LEVELS)
    if not x.is_cpu or torch.compiler.is_compiling() or not kernels.fast() or dropped > LEVELS - BYTE:
        return dropout_reference(x, p)
    with record_function("dropout"):  # a profile would not see what NumPy does
        seed = int(torch.randint(2**63 - 1, ()))
        columns = math.prod(x.shape[-1:])
        draws = np.random.SFC64(seed).random_raw(-(-(columns + x.numel()) // 8)).view(np.uint8)
        down, rest = divmod(dropped, BYTE)
        thresholds = torch.from_numpy(np.uint8(down) + (draws[:columns] < rest)).view(x.shape[-1:])
        levels = torch.from_numpy(draws[columns : columns + x.numel()]).view(x.shape)
        mask = torch.ge(levels, thresholds, out=torch.empty(x.shape, dtype=x.dtype))
        return x * mask.mul_(LEVELS / (LEVELS - dropped))


class Dropout(nn.Module):
    """``dropout`` in training, the identity in evaluation."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p) if self.training and self.p else x
