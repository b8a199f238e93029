"""Cores and threads that this process may compute with, and those that it leaves to other programs."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Sequence
from pathlib import Path

THREADS = "OMP_NUM_THREADS"
"""Environment variable that limits the threads of OpenMP, and so those of PyTorch."""
CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Processor time that a Linux container may take: microseconds, or ``max``, in so many microseconds."""
CPU_TIMES = Path("/proc/stat")
"""Time that each core of a Linux machine has spent on what, in ticks of the clock since it was started."""
BUSY_TICKS = (0, 2, 5, 6)
"""Columns of ``CPU_TIMES`` that count as work: user, system and interrupts, but nothing of low priority."""
ALL_TICKS = (0, 1, 2, 5, 6)
"""The same with work of low priority."""
SHORTEST_WATCH = 0.5
"""Least seconds for which other programs are watched: their starts and other short work do not count."""


def available_cores() -> int:
    """Return how many cores this process may use, at least 1.

    The fewest of: those that the system lets it run on, those that its container may use, and ``OMP_NUM_THREADS``.
    """
    limits = [cores_of_system()]
    if (given := os.environ.get(THREADS, "")).isdigit():
        limits.append(int(given))
    if CPU_QUOTA.exists():
        quota, period = CPU_QUOTA.read_text(encoding="ascii").split()
        limits += [int(quota) // int(period)] if quota.isdigit() else []
    return max(1, min(limits))


class CoreWatch:
    """What the cores of this process do from now on, to tell how many of them other programs keep busy.

    Args:
        columns: of ``CPU_TIMES``, what counts as work.
    """

    def __init__(self, columns: Sequence[int] = BUSY_TICKS) -> None:
        self._columns = columns
        self._start, self._others = time.monotonic(), _busy_seconds(columns) - _own_seconds()

    def busy_cores(self) -> int:
        """Return how many cores other programs have kept busy since the watch began, after ``SHORTEST_WATCH`` at least.

        0 where the system does not tell.
        """
        time.sleep(max(0.0, SHORTEST_WATCH - (time.monotonic() - self._start)))
        return round(self.mean_busy_cores() or 0)

    def mean_busy_cores(self) -> float | None:
        """Return how many cores other programs have kept busy on average since the watch began.

        None where the system does not tell, or before ``SHORTEST_WATCH``.
        """
        seconds = time.monotonic() - self._start
        if seconds < SHORTEST_WATCH or not CPU_TIMES.exists():
            return None
        return max(0.0, (_busy_seconds(self._columns) - _own_seconds() - self._others) / seconds)


def leave_busy_cores(watch: CoreWatch) -> str | None:
    """Limit torch's threads to the cores that the container may use and that no other program keeps busy.

    All threads of an operation wait for the slowest one, so a training on all cores of two falls to a third of its
    speed when another program needs one of them, and a training with one thread keeps most of its own. Does nothing if
    the user has chosen a number of threads.

    Args:
        watch: begun when the program started.

    Returns:
        A sentence for the user if other programs are the reason.
    """
    if os.environ.get(THREADS):
        return None
    import torch

    cores = available_cores()
    if cores < torch.get_num_threads():  # torch does not look at the container's quota
        torch.set_num_threads(cores)
    if cores == 1:
        return None
    busy = watch.busy_cores()
    threads = max(1, min(cores, cores_of_system() - busy))
    if threads >= torch.get_num_threads():
        return None
    torch.set_num_threads(threads)
    return (
        f"other programs keep {busy} of {cores_of_system()} cores busy, so this one has {threads} "
        f"{'thread' if threads == 1 else 'threads'}; {THREADS}={cores} overrules that."
    )


def _busy_seconds(columns: Sequence[int]) -> float:
    """Return the time that the cores of this process have worked since the machine was started."""
    if not CPU_TIMES.exists():
        return 0.0
    own = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    lines = [line.split() for line in CPU_TIMES.read_text(encoding="ascii").splitlines()]
    ticks = sum(int(times[column]) for name, *times in lines if name in own for column in columns)
    return ticks / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    """Return the time that this process and those it started have worked; 0 at low priority, as in ``BUSY_TICKS``."""
    if os.getpriority(os.PRIO_PROCESS, 0) > 0:
        return 0.0
    return sum(os.times()[:4]) + sum(_seconds_of(child.pid) for child in multiprocessing.active_children())


def _seconds_of(process: int | None) -> float:
    """Return the time that a process has worked, such as one that makes batches; 0 if the system does not tell."""
    try:
        user, system = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    except OSError:  # it has just ended
        return 0.0
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def cores_of_system() -> int:
    """Return how many cores the system lets this process run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1
