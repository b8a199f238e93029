"""The precision in which a processor runs fused recurrent layers, and casts that autocast would repeat."""

from __future__ import annotations

import functools
import platform
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from triptych import kernels


@functools.cache
def has_bf16() -> bool:
    """Whether this CPU has instructions for bfloat16 that PyTorch has kernels for; other CPUs emulate it slowly."""
    supported = torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return supported and (platform.machine() != "x86_64" or torch.cpu._is_avx512_bf16_supported())


def autocast_dtype(device: torch.device) -> torch.dtype | None:
    """Return the type that autocast casts to on a device; None if it is off. The ``meta`` device has no autocast."""
    enabled = device.type != "meta" and torch.is_autocast_enabled(device.type)
    return torch.get_autocast_dtype(device.type) if enabled else None


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Return a context in which nothing is cast."""
    return nullcontext() if device.type == "meta" else torch.autocast(device.type, enabled=False)


def fused_precision_reference(device: torch.device) -> AbstractContextManager[object]:
    """Run fused recurrent layers outside of autocast."""
    return without_autocast(device)


def fused_precision(device: torch.device) -> AbstractContextManager[object]:
    """Keep autocast as it is on a CPU with instructions for bfloat16; elsewhere run fused layers outside of it.

    Other CPUs have no kernel for bfloat16. On a GPU, autocast takes float16 for it; TensorFloat-32 still speeds up
    products there, and ``fused_recurrent`` says where they are faster still.
    """
    keeps = kernels.fast() and device.type == "cpu" and autocast_dtype(device) is not None and has_bf16()
    return nullcontext() if keeps else fused_precision_reference(device)


def cast_once_reference(x: Tensor) -> Tensor:
    """Leave the cast to autocast, which repeats it at every step of a loop."""
    return x


def cast_once(x: Tensor) -> Tensor:
    """Return x in the type that autocast would cast it to at every step of a loop."""
    if not kernels.fast():
        return cast_once_reference(x)
    dtype = autocast_dtype(x.device)
    return x if dtype is None else x.to(dtype)
