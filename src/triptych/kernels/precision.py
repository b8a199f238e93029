"""The precision in which a processor runs fused recurrent layers, and casts that autocast would repeat."""

from __future__ import annotations

import functools
import platform

import torch
from torch import Tensor

from triptych import kernels


@functools.cache
def has_bf16() -> bool:
    """Whether this CPU has instructions for bfloat16 that PyTorch has kernels for; other CPUs emulate it slowly."""
    supported = torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return supported and (platform.machine() != "x86_64" or torch.cpu._is_avx512_bf16_supported())


def fused_precision_reference(device: torch.device) -> torch.autocast:
    """Run fused recurrent layers outside of autocast."""
    return torch.autocast(device.type, enabled=False)


def fused_precision(device: torch.device) -> torch.autocast:
    """Keep autocast as it is on a CPU with instructions for bfloat16; elsewhere run fused layers outside of it.

    Other CPUs have no kernel for bfloat16. On a GPU, autocast takes float16 for it; TensorFloat-32 still speeds up
    products there, and ``fused_recurrent`` says where they are faster still.
    """
    if not kernels.fast():
        return fused_precision_reference(device)
    enabled = device.type == "cpu" and torch.is_autocast_enabled("cpu") and has_bf16()
    return torch.autocast(device.type, torch.get_autocast_dtype(device.type), enabled=enabled)


def cast_once_reference(x: Tensor) -> Tensor:
    """Leave the cast to autocast, which repeats it at every step of a loop."""
    return x


def cast_once(x: Tensor) -> Tensor:
    """Return x in the type that autocast would cast it to at every step of a loop."""
    if not kernels.fast():
        return cast_once_reference(x)
    device = x.device.type
    return x.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else x
