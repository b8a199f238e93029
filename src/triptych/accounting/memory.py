"""Peak memory of this process, and memory that is free."""

from __future__ import annotations

import contextlib
import re
import resource
import sys
from pathlib import Path

import torch

CONTAINER = Path("/sys/fs/cgroup")
"""Folder in which a Linux container finds its own limits."""


def reset_peak_memory(device: torch.device | str) -> None:
    """Restart the measurement of ``peak_memory_bytes``, on systems that can (CUDA, Linux)."""
    if torch.device(device).type == "cuda":
        torch.cuda.init()  # before it, PyTorch knows of no device to reset
        torch.cuda.reset_peak_memory_stats(device)
    elif sys.platform == "linux":
        with contextlib.suppress(OSError):  # a hardened container may forbid it
            Path("/proc/self/clear_refs").write_text("5")


def peak_memory_bytes(device: torch.device | str) -> int:
    """Return the peak memory in bytes since ``reset_peak_memory``.

    For a GPU it is the memory of tensors, for other devices the resident memory of the whole process.
    """
    device = torch.device(device)
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if sys.platform == "linux" and (found := re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())):
        return 1024 * int(found[1])
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return resident if sys.platform == "darwin" else resident * 1024


def free_memory_bytes() -> int | None:
    """Return how much more memory processes can take before the system or the container has no more; None if unknown.

    What the system keeps of files counts as free, for it gives that up first.
    """
    if sys.platform != "linux":
        return None
    found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    limits = [1024 * int(found[1])] if found else []
    limit, used = CONTAINER / "memory.max", CONTAINER / "memory.current"
    if limit.exists() and used.exists() and (most := limit.read_text().strip()).isdigit():
        files = re.search(r"^inactive_file (\d+)", (CONTAINER / "memory.stat").read_text(), re.MULTILINE)
        limits.append(int(most) - int(used.read_text()) + (int(files[1]) if files else 0))
    return min(limits) if limits else None
