"""Cores and threads that this process may compute with. Imports no torch: its threads read the environment once."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

THREADS = "OMP_NUM_THREADS"
"""Environment variable that limits the threads of OpenMP, and so those of PyTorch."""
WAIT_POLICY, SPIN_COUNT = "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"
"""Environment variables that say how threads of OpenMP wait for each other."""
SPINS = "1000"
"""How often a waiting thread looks before it sleeps: enough for most waits between the operations of a step."""
CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Processor time that a Linux container may take: microseconds, or ``max``, in so many microseconds."""


def available_cores() -> int:
    """Return how many cores this process may use, at least 1.

    The fewest of: those that the system lets it run on, those that its container may use, and ``OMP_NUM_THREADS``.
    """
    limits = [_cores_of_system()]
    if (given := os.environ.get(THREADS, "")).isdigit():
        limits.append(int(given))
    if CPU_QUOTA.exists():
        quota, period = CPU_QUOTA.read_text(encoding="ascii").split()
        limits += [int(quota) // int(period)] if quota.isdigit() else []
    return max(1, min(limits))


def _cores_of_system() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def limit_spinning(environment: MutableMapping[str, str]) -> None:
    """Let the threads of OpenMP sleep soon when they wait for each other, unless the user has chosen otherwise.

    By default they spin for milliseconds, so a training on all cores falls to a third of its speed as soon as another
    process needs a core. Threads that never spin halve the speed of a training that has the machine to itself. Has an
    effect only before torch is imported, and only on GNU's OpenMP, which PyTorch uses on Linux.
    """
    if WAIT_POLICY not in environment:
        environment.setdefault(SPIN_COUNT, SPINS)
