"""Single-precision matrix products on processors that MKL, PyTorch's library for them, is slow on."""

from __future__ import annotations

import functools
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch

CPUINFO = Path("/proc/cpuinfo")


@contextmanager
def fast_products(device: torch.device) -> Iterator[None]:
    """Products by oneDNN, where that pays: on AMD's processors with AVX-512 it has twice MKL's rate.

    It makes a kernel for every size that it meets, which pays in training and not in decoding, whose sizes are many and
    small. Not to be used around ``torch.compile``, which asks for the precision of products by PyTorch's older names.

    Args:
        device: where the products are made; nothing changes but on a CPU.
    """
    with _by_onednn() if device.type == "cpu" and pays() else nullcontext():
        yield


@functools.cache
def pays() -> bool:
    """Whether this processor is one that MKL is slow on, and oneDNN exact."""
    return (
        platform.machine() == "x86_64"
        and CPUINFO.exists()
        and re.search(r"^vendor_id\s*: AuthenticAMD", CPUINFO.read_text(), re.MULTILINE) is not None
        and torch.backends.cpu.get_cpu_capability() == "AVX512"
        and torch.backends.mkldnn.is_available()
        and _exact()
    )


@contextmanager
def _by_onednn() -> Iterator[None]:
    """The one way to have it: to allow bf16 inside, which oneDNN heeds only where there are units for it (AMX)."""
    backend: Any = torch.backends.mkldnn  # whose attributes type checkers do not know of
    matmul = backend.matmul
    before = matmul.fp32_precision
    matmul.fp32_precision = "bf16"
    try:
        yield
    finally:
        matmul.fp32_precision = before


def _exact() -> bool:
    """Whether oneDNN, allowed less, still computes in single precision here: bf16 is off by 1e-3."""
    one = torch.linspace(0, 1000, 256 * 256).sin().view(256, 256)
    with _by_onednn():
        found = one @ one.T
    return bool(torch.allclose(found, one @ one.T, rtol=0, atol=1e-6 * len(one)))
