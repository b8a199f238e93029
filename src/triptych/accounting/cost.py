"""What a run cost: parameters, floating-point operations, peak rates and memory."""

from __future__ import annotations

import contextlib
import functools
import platform
import re
import resource
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from triptych.contract.model import TranslationModel
from triptych.errors import UserError
from triptych.kernels.matmul import fast_products

DATASHEET_PEAKS: tuple[tuple[str, float, str], ...] = (
    ("H200", 989e12, "NVIDIA H200 datasheet, bf16, dense"),
    ("H100 PCIe", 756e12, "NVIDIA H100 PCIe datasheet, bf16, dense"),
    ("H100 NVL", 835e12, "NVIDIA H100 NVL datasheet, bf16, dense"),
    ("H100", 989e12, "NVIDIA H100 SXM datasheet, bf16, dense"),
    ("A100", 312e12, "NVIDIA A100 datasheet, bf16, dense"),
    ("V100-PCIE", 112e12, "NVIDIA V100 PCIe datasheet, fp16"),
    ("V100", 125e12, "NVIDIA V100 SXM2 datasheet, fp16"),
)
"""Part of a device's name, its peak in FLOP/s without sparsity, and where the figure is from; the first match holds."""


def parameters(model: TranslationModel) -> tuple[int, int]:
    """All parameters, a shared tensor counted once, and those that are neither embedding nor output projection."""
    total = sum(parameter.numel() for parameter in model.parameters())
    return total, total - model.embedding_parameters


TRAINING = 3
"""Forward passes that a training step costs: the backward pass of a matrix product is two products of the same size
(Kaplan et al. 2020, section 2.1)."""

Pairs = Mapping[tuple[int, int, bool], int]
"""How many pairs a training saw of each source length, target length (special tokens counted as in ``Batch``), and
whether the loss asked for the source too (lambda > 0)."""


def training_flops(model: TranslationModel, pairs: Pairs) -> int:
    """Floating-point operations of the forward and backward passes over pairs, padding left out."""
    return TRAINING * sum(
        count * (model.flops(src, tgt) - (0 if autoencoded else model.source_prediction_flops(src)))
        for (src, tgt, autoencoded), count in pairs.items()
    )


def cost(
    model: TranslationModel,
    pairs: Pairs,
    *,
    tokens: int,
    seconds: float,
    device: torch.device,
    devices: int,
    precision: str,
    peak_memory: int,
) -> dict[str, Any]:
    """What ``result.json`` says of the cost of a training.

    Args:
        model: the architecture.
        pairs: what it trained on.
        tokens: source and target tokens trained on.
        seconds: how long training took.
        device: where this process trained.
        devices: how many like it there were.
        precision: Lightning's name of it.
        peak_memory: bytes, the most that this process held while it trained.
    """
    flops = training_flops(model, pairs)
    peak, peak_source = peak_flops(device, precision)
    return {
        "flops": flops,
        "flops_6nd": flops_6nd(parameters(model)[1], tokens),
        "seconds": seconds,
        "tokens_per_second": tokens / seconds,
        "device": device_name(device),
        "devices": devices,
        "peak_flops": peak * devices,
        "peak_source": peak_source,
        "mfu": mfu(flops, seconds, peak * devices),
        "peak_memory_bytes": peak_memory,
    }


def flops_6nd(non_embedding: int, tokens: int) -> int:
    """The rule of thumb 6ND for training N non-embedding parameters on D tokens (Kaplan et al. 2020, section 2.1)."""
    return 6 * non_embedding * tokens


def peak_flops(device: torch.device | str, precision: str = "32-true") -> tuple[float, str]:
    """The peak of a device in FLOP/s, and where the figure is from: a datasheet, or a measurement made here.

    A GPU's is that of bf16, whatever it trains in; a CPU's is that of the run's precision.
    """
    device = torch.device(device)
    if device.type == "cuda":
        with contextlib.suppress(UserError):
            return datasheet_peak(torch.cuda.get_device_name(device))
    half = device.type != "cpu" or precision.startswith("bf16")
    return measured_flops(device, torch.bfloat16 if half else torch.float32)


def datasheet_peak(name: str) -> tuple[float, str]:
    """The same of a GPU that need not be here, by its name.

    Raises:
        UserError: none of that name is known.
    """
    if (kind := gpu_kind(name)) is None:
        known = ", ".join(part for part, _, _ in DATASHEET_PEAKS)
        raise UserError(f"device {name} is unknown; choose one of {known}.")
    return next((peak, source) for part, peak, source in DATASHEET_PEAKS if part == kind)


def gpu_kind(name: str) -> str | None:
    """The part of a GPU's name that its datasheet goes by; None for others.

    A MIG slice bears the name of the whole GPU, of which it has a part only.
    """
    parts = (part for part, _, _ in DATASHEET_PEAKS if re.search(rf"\b{part}\b", name))
    return None if "MIG" in name else next(parts, None)


@functools.cache  # one denominator for all runs of a sweep
def measured_flops(device: torch.device, dtype: torch.dtype) -> tuple[float, str]:
    """The best rate in FLOP/s of twenty square matrix products: a peak is what nothing else disturbed."""
    size = 1024 if device.type == "cpu" else 4096
    matrix = torch.ones(size, size, device=device, dtype=dtype)
    with fast_products(device):
        seconds = min(_seconds_of_product(matrix) for _ in range(20))
    name = str(dtype).removeprefix("torch.")
    return 2 * size**3 / seconds, f"measured here, {name} matrix product of {size}, best of 20"


def mfu(flops: float, seconds: float, peak: float) -> float:
    """Model FLOPs utilisation (Chowdhery et al. 2022, appendix B): the share of the peak that was reached.

    Raises:
        ValueError: ``seconds`` or ``peak`` is not positive.
    """
    if seconds <= 0 or peak <= 0:
        raise ValueError(f"MFU needs positive seconds and peak, but seconds={seconds} and peak={peak}")
    return flops / seconds / peak


def reset_peak_memory(device: torch.device | str) -> None:
    """Starts ``peak_memory_bytes`` anew, where the system can (CUDA, Linux)."""
    if torch.device(device).type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    elif sys.platform == "linux":
        with contextlib.suppress(OSError):  # a hardened container may forbid it
            Path("/proc/self/clear_refs").write_text("5")


def peak_memory_bytes(device: torch.device | str) -> int:
    """Most bytes held since ``reset_peak_memory``: by tensors on a GPU, by the whole process (resident) elsewhere."""
    device = torch.device(device)
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if sys.platform == "linux" and (found := re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())):
        return 1024 * int(found[1])
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return resident if sys.platform == "darwin" else resident * 1024


def _seconds_of_product(matrix: torch.Tensor) -> float:
    began = time.perf_counter()
    matrix @ matrix
    if matrix.device.type != "cpu":
        torch.accelerator.synchronize(matrix.device)
    return time.perf_counter() - began


def device_name(device: torch.device | str) -> str:
    """The name of a GPU's model, or of this machine's kind of processor with the threads that PyTorch uses."""
    device = torch.device(device)
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} {platform.machine()}, {torch.get_num_threads()} threads"
