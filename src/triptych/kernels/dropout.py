"""Dropout (Srivastava et al. 2014) whose masks cost a CPU a quarter of the draws, each at half of the price."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import record_function

LEVELS = 2**16


def drop(x: Tensor, p: float) -> Tensor:
    """Zeros with probability p, and the rest times 1 / (1 - p).

    PyTorch's CPU kernel draws a number an element. Here one draw of 64 bits decides over four elements: each is dropped
    where its 16 bits stand below p · 2^16, so p is rounded to a multiple of 2^-16, and the rest is scaled by what was
    rounded to, in the precision of ``x``. PyTorch's default generator seeds each mask, whose numbers are those of
    SFC64, the fastest that NumPy has. Other devices and ``torch.compile`` have their own way.

    Args:
        x: any shape, floating point.
        p: in [0, 1).

    Returns:
        The shape and type of ``x``.
    """
    if not x.is_cpu or torch.compiler.is_compiling():
        return F.dropout(x, p)
    dropped = min(round(p * LEVELS), LEVELS - 1)
    with record_function("dropout"):  # a profile would not see what NumPy does
        seed = int(torch.randint(2**63 - 1, ()))
        draws = np.random.SFC64(seed).random_raw(-(-x.numel() // 4))
        levels = torch.from_numpy(draws.view(np.int16))[: x.numel()].view(x.shape)
        mask = torch.ge(levels, dropped - LEVELS // 2, out=torch.empty(x.shape, dtype=x.dtype))
        return x * mask.mul_(LEVELS / (LEVELS - dropped))


class Dropout(nn.Module):
    """``drop`` in training, the identity elsewhere."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return drop(x, self.p) if self.training and self.p else x
