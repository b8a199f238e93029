"""Names of devices and their peak rates in FLOP/s, from datasheets or measured."""

from __future__ import annotations

import contextlib
import platform
import re
import time
from pathlib import Path

import torch

from triptych import kernels
from triptych.errors import UserError
from triptych.kernels.fast_matmul import fast_products

DATASHEET_PEAKS: tuple[tuple[str, float, str], ...] = (
    ("B200", 2250e12, "NVIDIA HGX B200 datasheet, bf16, dense"),
    ("H200", 989e12, "NVIDIA H200 datasheet, bf16, dense"),
    ("H100 PCIe", 756e12, "NVIDIA H100 PCIe datasheet, bf16, dense"),
    ("H100 NVL", 835e12, "NVIDIA H100 NVL datasheet, bf16, dense"),
    ("H100", 989e12, "NVIDIA H100 SXM datasheet, bf16, dense"),
    ("L40S", 362e12, "NVIDIA L40S datasheet, bf16, dense"),
    ("A100", 312e12, "NVIDIA A100 datasheet, bf16, dense"),
    ("V100-PCIE", 112e12, "NVIDIA V100 PCIe datasheet, fp16"),
    ("V100", 125e12, "NVIDIA V100 SXM2 datasheet, fp16"),
)
"""Part of a device's name, its dense peak in FLOP/s, and the source of the figure; the first match counts."""
CPU_INFO = Path("/proc/cpuinfo")
"""Where Linux describes the processor."""

ENOUGH = 5.0
"""Seconds of products after which a rate has been measured."""
MeasuredPeaks = dict[tuple[str, torch.dtype, int, bool], tuple[float, str]]
"""Peaks in FLOP/s and how they were measured, by device, type of numbers, threads, and whether kernels are fast."""
_measured: MeasuredPeaks = {}


def device_name(device: torch.device | str) -> str:
    """Return the model name of a GPU; for a CPU, its architecture and the number of threads that PyTorch uses."""
    device = torch.device(device)
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} {platform.machine()}, {torch.get_num_threads()} threads"


def device_kind(device: torch.device) -> str:
    """Return the model name of a GPU, or the type of another device. Seconds on devices of two kinds do not compare."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def processor_name() -> str | None:
    """Return the model of this machine's processor; None where the system does not tell."""
    lines = CPU_INFO.read_text(encoding="utf-8").splitlines() if CPU_INFO.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def peak_flops(device: torch.device | str, precision: str = "32-true") -> tuple[float, str]:
    """Return the peak of a device in FLOP/s, and the source of the figure: a datasheet or a measurement.

    The peak of a GPU is its peak in bf16, whatever the precision. The peak of a CPU is that of the precision.

    Args:
        device: a device of this machine.
        precision: Lightning's name of the training precision.
    """
    device = torch.device(device)
    if device.type == "cuda":
        with contextlib.suppress(UserError):
            return datasheet_peak(torch.cuda.get_device_name(device))
    half = device.type != "cpu" or precision.startswith("bf16")
    return measured_peak(device, torch.bfloat16 if half else torch.float32, torch.get_num_threads())


def datasheet_peak(name: str) -> tuple[float, str]:
    """Return the peak in FLOP/s of a GPU of this name, and its datasheet. The GPU need not be in this machine.

    Raises:
        UserError: no datasheet is known for this name.
    """
    if (listed := datasheet_name(name)) is None:
        known = ", ".join(part for part, _, _ in DATASHEET_PEAKS)
        raise UserError(f"device {name} is unknown; choose one of {known}.")
    return next((peak, source) for part, peak, source in DATASHEET_PEAKS if part == listed)


def datasheet_name(device: str) -> str | None:
    """Return the part of a device's name under which ``DATASHEET_PEAKS`` lists it; None if it does not.

    A MIG slice is not listed: it has the name of the whole GPU, but only a part of its rate.
    """
    parts = (part for part, _, _ in DATASHEET_PEAKS if re.search(rf"\b{part}\b", device))
    return None if "MIG" in device else next(parts, None)


def measured_peak(device: torch.device, dtype: torch.dtype, threads: int) -> tuple[float, str]:
    """Return the rate in FLOP/s of the fastest of twenty square matrix products, and how it was measured.

    It is measured once, so that all runs of a process are compared to the same peak.

    Args:
        device: that computes.
        dtype: of the matrices.
        threads: that PyTorch computes with at present, for which the rate is remembered.
    """
    measured = str(device), dtype, threads, kernels.fast()
    if measured not in _measured:
        _measured[measured] = _measure(device, dtype)
    return _measured[measured]


def measured_peaks() -> MeasuredPeaks:
    """Return the peaks that this process has measured, for others to take over."""
    return dict(_measured)


def take_over(peaks: MeasuredPeaks) -> None:
    """Let this process use peaks that another one has measured on this machine."""
    _measured.update(peaks)


def _measure(device: torch.device, dtype: torch.dtype) -> tuple[float, str]:
    """Measure a rate: the fastest of 20 products, because other processes can only make one slower.

    Of fewer where they are slow: in bf16, a CPU without instructions for it takes seconds for each.
    """
    size, seconds = 1024 if device.type == "cpu" else 4096, list[float]()
    matrix = torch.ones(size, size, device=device, dtype=dtype)
    with fast_products(device):
        while len(seconds) < 3 or (len(seconds) < 20 and sum(seconds) < ENOUGH):
            seconds.append(_seconds_of_product(matrix))
    name = str(dtype).removeprefix("torch.")
    return 2 * size**3 / min(seconds), f"measured here, {name} matrix product of {size}, best of {len(seconds)}"


def _seconds_of_product(matrix: torch.Tensor) -> float:
    start = time.perf_counter()
    matrix @ matrix
    if matrix.device.type != "cpu":
        torch.accelerator.synchronize(matrix.device)
    return time.perf_counter() - start
