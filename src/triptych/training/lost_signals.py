"""A signal that a destructor swallows comes again.

Signals become exceptions wherever the program is. In a destructor, such as ``__del__`` of an object of Lightning's,
Python prints the exception and goes on: Ctrl-C would do nothing.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SOON = 0.01
"""Seconds until the destructor has ended."""


@contextmanager
def signals_come_again(terminated: int) -> Iterator[None]:
    """Send SIGINT or SIGTERM to this process again where the exception that it had become was ignored.

    Args:
        terminated: exit status of the ``SystemExit`` that SIGTERM becomes.
    """
    before = sys.unraisablehook

    def take(ignored: sys.UnraisableHookArgs) -> None:
        error = ignored.exc_value
        if isinstance(error, KeyboardInterrupt):
            swallowed = signal.SIGINT
        elif isinstance(error, SystemExit) and error.code == terminated:
            swallowed = signal.SIGTERM
        else:
            before(ignored)
            return
        again = threading.Timer(SOON, os.kill, (os.getpid(), swallowed))
        again.daemon = True
        again.start()

    sys.unraisablehook = take
    try:
        yield
    finally:
        sys.unraisablehook = before
