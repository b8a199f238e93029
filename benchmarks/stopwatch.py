"""Time work on a device whose calls return before it has done them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class Stopwatch:
    """Takes times on one device: a GPU by events in its queue, a CPU by the clock."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def mark(self) -> Any:
        """Return a mark in the device's queue: a CUDA event, which may lie in the future, or the time on a CPU."""
        if self.device.type != "cuda":
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, one: Any, other: Any) -> float:
        """Return the seconds between two marks that the device has reached."""
        return one.elapsed_time(other) / 1000 if self.device.type == "cuda" else other - one

    def wait(self) -> None:
        """Wait until the device has done all that it was given."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def seconds(self, work: Callable[[], object], times: int = 10) -> float:
        """Return the seconds per call, of ``times`` calls queued on the device."""
        self.wait()
        began = self.mark()
        for _ in range(times):
            work()
        ended = self.mark()
        self.wait()
        return self.between(began, ended) / times

    def milliseconds_both_ways(self, forward: Callable[[], Tensor]) -> float:
        """Return those of a forward and a backward pass: the median of five runs of ten, after one for warming up."""

        def work() -> None:
            forward().sum().backward()

        work()
        return 1000 * statistics.median(self.seconds(work) for _ in range(5))
