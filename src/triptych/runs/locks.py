"""Locks, so that processes, and machines that share a disk, train each run once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import Timeout

from triptych.errors import UserError
from triptych.files import locked


class RunLocked(UserError):
    """Another process trains this run, or another run of the same name."""

    def __init__(self, run: Path) -> None:
        super().__init__(f"another process trains {run}; wait for it, or give another output=….")


@contextmanager
def run_lock(run: Path, name: str, *, wait: bool = False) -> Iterator[None]:
    """Hold a lock that the system releases when its process dies.

    Args:
        run: folder that is locked, which need not exist. The lock is a file in ``.locks`` beside it.
        name: of the lock.
        wait: until another process releases it.

    Raises:
        RunLocked: another process holds the lock, and ``wait`` is False.
    """
    try:
        with locked(run.parent / ".locks" / name, wait=wait):
            yield
    except Timeout as error:
        raise RunLocked(run) from error
