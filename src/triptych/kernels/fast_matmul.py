"""Single-precision matrix products on processors that MKL, PyTorch's library for them, is slow on."""

from __future__ import annotations

import functools
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from triptych import kernels

CPUINFO = Path("/proc/cpuinfo")


@contextmanager
def products_reference(device: torch.device) -> Iterator[None]:
    """Leave products to PyTorch's own choice of library."""
    yield


@contextmanager
def fast_products(device: torch.device) -> Iterator[None]:
    """Compute products by oneDNN where that pays: on AMD's processors with AVX-512 it has twice MKL's rate.

    oneDNN builds a kernel for every size that it meets. That pays in training. In decoding, sizes are many and small,
    and it pays with packed weights alone (``packed_linear``). Not to be used around ``torch.compile``, which reads the
    precision of products by PyTorch's older names.

    Args:
        device: where the products are computed; nothing changes except on a CPU.
    """
    faster = kernels.fast() and device.type == "cpu" and is_faster()
    with _by_onednn() if faster else products_reference(device):
        yield


@functools.cache
def is_faster() -> bool:
    """Whether MKL is slow on this processor, and oneDNN exact."""
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
    """Choose oneDNN in the one way that there is: allow bf16, which it uses only where there are units for it (AMX)."""
    backend: Any = torch.backends.mkldnn  # type checkers do not know its attributes
    matmul = backend.matmul
    before = matmul.fp32_precision
    matmul.fp32_precision = "bf16"
    try:
        yield
    finally:
        matmul.fp32_precision = before


def _exact() -> bool:
    """Whether oneDNN, although bf16 is allowed, computes in single precision here: bf16 would be off by 1e-3."""
    one = torch.linspace(0, 1000, 256 * 256).sin().view(256, 256)
    with _by_onednn():
        found = one @ one.T
    return bool(torch.allclose(found, one @ one.T, rtol=0, atol=1e-6 * len(one)))
