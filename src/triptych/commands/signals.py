"""Signals that end the program: the exit statuses after them, and SIGTERM as an exception."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED, UNREAD, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGPIPE, 128 + signal.SIGTERM
"""Exit statuses as a shell has them after Ctrl-C, a reader that has left, and SIGTERM."""


@contextmanager
def sigterm_unwinds() -> Iterator[None]:
    """Let SIGTERM end the program as an exception does, so that unfinished files are removed. Main thread alone."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
