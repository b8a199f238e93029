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
def signals_come_again() -> Iterator[None]:
    """Send SIGINT or SIGTERM to this process again where the exception that it had become was ignored."""
    before = sys.unraisablehook

    def take(ignored: sys.UnraisableHookArgs) -> None:
        swallowed = {KeyboardInterrupt: signal.SIGINT, SystemExit: signal.SIGTERM}.get(ignored.exc_type)
        if swallowed is None:
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
