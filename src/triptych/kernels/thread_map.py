"""Run independent parts of a computation on threads. Small matrix products gain little from a second thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from threading import Barrier, BrokenBarrierError, Event
from typing import TypeVar

import torch

from triptych import kernels

T = TypeVar("T")
R = TypeVar("R")
Work = Callable[[T, Callable[[], None]], R]
"""Computes a part. It calls its second argument now and then, which raises an error once the others have stopped."""
MOST_WORKERS = 4
"""Most workers, if there are more threads: those are shared among them."""


class Stopped(Exception):
    """Another part has failed, or the user has interrupted the whole."""


def worker_count(device: torch.device | str) -> int:
    """Return how many parts ``thread_map`` computes at a time on a device."""
    is_cpu = torch.device(device).type == "cpu"
    return min(torch.get_num_threads(), MOST_WORKERS) if kernels.fast() and is_cpu else 1


def thread_map(work: Work[T, R], parts: Sequence[T], workers: int) -> Iterator[R]:
    """Yield the result of each part, in order.

    Args:
        work: may change nothing that the parts share. It finds this thread's context variables, autocast and gradient
            mode; in inference mode it must begin by itself.
        parts: what it is called with.
        workers: maximum number of parts at a time, as of ``worker_count``. With 1, this thread computes them all.

    Raises:
        Exception: the first one that ``work`` has raised. The other parts then stop.
    """
    workers = min(workers, len(parts))
    if workers < 2:
        yield from (work(part, lambda: None) for part in parts)
        return
    threads, stopped, failures = torch.get_num_threads(), Event(), list[BaseException]()
    grad, autocast = torch.is_grad_enabled(), (torch.get_autocast_dtype("cpu"), torch.is_autocast_enabled("cpu"))

    def check() -> None:
        if stopped.is_set():
            raise Stopped

    def compute(part: T) -> R:
        try:
            with torch.autocast("cpu", *autocast), torch.set_grad_enabled(grad):
                return work(part, check)
        except BaseException as error:
            if not stopped.is_set():
                failures.append(error)
            stopped.set()
            raise

    shares = iter([max(1, threads // workers + (worker < threads % workers)) for worker in range(workers)])
    started = Barrier(workers + 1)

    def start() -> None:
        torch.get_num_threads()  # a thread takes over the common number at its first call, which must not come later
        torch.set_num_threads(next(shares))
        with suppress(BrokenBarrierError):  # an executor whose initializer fails may never end
            started.wait()

    pool = ThreadPoolExecutor(workers, initializer=start)
    try:
        try:
            results = [pool.submit(copy_context().run, compute, part) for part in parts]
            started.wait()
        finally:
            torch.set_num_threads(threads)  # the common number is what any thread has set last
        for result in results:
            try:
                found = result.result()
            except Stopped:
                raise failures[0] from None
            yield found
    finally:
        stopped.set()
        started.abort()
        _end(pool)


def _end(pool: ThreadPoolExecutor) -> None:
    """Wait for the parts that still run, also if the user interrupts twice: the interpreter would abort at its end."""
    try:
        pool.shutdown(cancel_futures=True)
    except BaseException:
        pool.shutdown()
        raise
