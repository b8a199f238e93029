"""How a rank that another process has started ends: with its work, or soon after that process, however it ended."""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from typing import NoReturn

STARTER = "TRIPTYCH_STARTER"
"""Environment variable in which the first rank gives the ranks that it starts the number of its process."""
INTERVAL = 1.0
"""Seconds between two looks for the starter."""
GRACE = 3.0
"""Seconds in which a rank may end by itself after its starter has ended: normally, or because its connection broke."""


def end_with_starter() -> None:
    """Watch the process that has started this rank, if one did, and end this rank soon after it.

    A rank that still waits for its first connection would otherwise do so until PyTorch gives up, after half an hour.
    Ranks that a launcher such as torchrun or Slurm has started are left to their launcher.
    """
    if starter := os.environ.pop(STARTER, None):  # this process may start others, which are no ranks
        threading.Thread(target=_end_after, args=(int(starter),), name="starter", daemon=True).start()


def end_rank() -> NoReturn:
    """End this process, a rank whose work is done, at once and well.

    PyTorch 2.11 now and then aborts while Python takes such a process down. The process that started it would treat
    that as a failure, and Lightning would kill the process of the first rank.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _end_after(starter: int) -> None:
    """Wait until the starter has ended, and end this process unless it ends by itself.

    No signal is sent first: a main thread that connects would show PyTorch's report of it, and then go on connecting.
    """
    if not _wait_with_linux(starter):
        _wait_by_asking(starter)
    time.sleep(GRACE)
    os._exit(1)


def _wait_with_linux(process: int) -> bool:
    """Wait until a process has ended; return False at once where the system cannot tell: it takes Linux 5.3.

    A process has ended here even if its own parent has not yet asked how.
    """
    try:
        ended = select.poll()
        ended.register(os.pidfd_open(process), select.POLLIN)
    except ProcessLookupError:
        return True
    except (AttributeError, OSError):
        return False
    ended.poll()
    return True


def _wait_by_asking(process: int) -> None:
    """Wait until a process has ended, and look for it now and then."""
    is_there = _is_parent if _is_parent(process) else _exists  # a wrapper of Python may stand between the two
    while is_there(process):
        time.sleep(INTERVAL)


def _is_parent(process: int) -> bool:
    """Whether a process has started this one and still runs: one that has ended is nobody's parent."""
    return os.getppid() == process


def _exists(process: int) -> bool:
    """Whether there is a process. Windows cannot be asked without ending it, so there the answer is yes."""
    if os.name == "nt":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
