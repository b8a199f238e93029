"""Independent parts of a computation, several at a time on a CPU: small products gain little from a second thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Event
from typing import TypeVar

import torch

from triptych import kernels

T = TypeVar("T")
R = TypeVar("R")
Work = Callable[[T, Callable[[], None]], R]
"""Computes a part. It calls its second argument now and then, which raises an error once the others have stopped."""
MOST = 4
"""Most parts at a time, if there are more threads: those share them."""


class Stopped(Exception):
    """Another part has failed, or the user has interrupted the whole."""


def at_a_time(device: torch.device | str) -> int:
    """Return how many parts ``compute`` computes at a time on a device."""
    is_cpu = torch.device(device).type == "cpu"
    return min(torch.get_num_threads(), MOST) if kernels.fast() and is_cpu else 1


def compute_reference(work: Work[T, R], parts: Sequence[T], number: int) -> Iterator[R]:
    """``compute`` part by part, in this thread and with all threads of PyTorch."""
    return (work(part, lambda: None) for part in parts)


def compute(work: Work[T, R], parts: Sequence[T], number: int) -> Iterator[R]:
    """Yield the result of each part, in order.

    Args:
        work: may change nothing that the parts share.
        parts: what it is called with.
        number: of parts at a time, as of ``at_a_time``.
    """
    if number == 1 or len(parts) < 2:
        yield from compute_reference(work, parts, number)
        return
    threads, stopped = torch.get_num_threads(), Event()
    dtype, enabled = torch.get_autocast_dtype("cpu"), torch.is_autocast_enabled("cpu")  # settings of this thread alone

    def check() -> None:
        if stopped.is_set():
            raise Stopped

    def one(part: T) -> R:
        with torch.autocast("cpu", dtype, enabled=enabled):
            return work(part, check)

    pool = ThreadPoolExecutor(number, initializer=torch.set_num_threads, initargs=(max(1, threads // number),))
    try:
        for future in [pool.submit(copy_context().run, one, part) for part in parts]:
            yield future.result()
    finally:
        stopped.set()
        _end(pool)
        torch.set_num_threads(threads)  # which threads begin with that are started from now on


def _end(pool: ThreadPoolExecutor) -> None:
    """Wait for the parts that still run, even if the user interrupts twice: the interpreter would abort at its end."""
    try:
        pool.shutdown(cancel_futures=True)
    except BaseException:
        pool.shutdown()
        raise
