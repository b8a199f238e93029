"""The process of one arm that runs beside others. The libraries are imported once for all arms of a sweep.

On Linux each process is forked from one that has imported the libraries and done nothing else; elsewhere, where
libraries do not survive a fork, it imports them itself.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any

from triptych.accounting.threads import THREADS

if sys.platform == "linux":
    CONTEXT = multiprocessing.get_context("forkserver")
else:
    CONTEXT = multiprocessing.get_context("spawn")
PRELOADED = "triptych.sweeps.preloaded"
"""Module that is imported once for all arms."""
TERMINAL = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""Environment variables that make rich take any output for a terminal; that of an arm is a pipe."""


class ArmProcess:
    """The process of one arm.

    It has a session of its own, so that Ctrl-C reaches it once, from the process of the sweep, and not also from the
    terminal. It stops when the process of the sweep has died, also when that was killed and could not say so.

    Args:
        work: of the process; returns its exit status. It is pickled.
        threads: that it computes with.
    """

    def __init__(self, work: Callable[[], int], threads: int) -> None:
        self._said, output = CONTEXT.Pipe(duplex=False)
        self._process = CONTEXT.Process(target=_run, args=(work, threads, output))
        with _nothing_to_import_again(), _environment({THREADS: "1"}):
            self._process.start()
        output.close()

    def lines(self) -> Iterator[str]:
        """Wait for what the process writes to its standard output and error, line by line, until it has ended."""
        with open(self._said.fileno(), encoding="utf-8", errors="replace", closefd=False) as said:
            yield from said
        self._said.close()

    def wait(self) -> int:
        """Wait until the process has ended, and return its exit status; negative for the signal that killed it."""
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode

    def stop(self) -> None:
        """Ask the process to save where it is, and to end."""
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


def import_libraries() -> None:
    """Begin to import the libraries for the processes of arms, in the background."""
    if CONTEXT.get_start_method() == "forkserver":
        from multiprocessing import forkserver

        CONTEXT.set_forkserver_preload([PRELOADED])
        with _nothing_to_import_again(), _environment({THREADS: "1"}):
            forkserver.ensure_running()


def _run(work: Callable[[], int], threads: int, output: Connection) -> None:
    import torch

    from triptych.training.callbacks.save_on_signal import TERMINATED

    def stop(number: int, _: Any) -> None:
        raise SystemExit(TERMINATED)

    signal.signal(signal.SIGTERM, stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # which ``preloaded`` has blocked
    os.setsid()
    for stream in (1, 2):
        os.dup2(output.fileno(), stream)
    output.close()
    os.environ[THREADS] = str(threads)
    for name in ("MKL_NUM_THREADS", *TERMINAL):
        os.environ.pop(name, None)
    torch.set_num_threads(threads)
    gc.freeze()  # what was loaded before a fork is no garbage, and collecting need not look through it
    threading.Thread(target=_stop_with_sweep, daemon=True).start()
    sys.exit(work())


def _stop_with_sweep() -> None:
    """Wait for the process of the sweep, and stop when it has ended."""
    sweep = multiprocessing.parent_process()
    assert sweep is not None
    sweep.join()
    os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def _nothing_to_import_again() -> Iterator[None]:
    """Hide the main module, which may be a user's script: a new process would import it, and so start a sweep again."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Change the environment for what starts meanwhile: libraries read it when they are loaded."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value
