"""Show messages on the command line within the width of the terminal: on standard output, errors on standard error."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

from triptych.commands.printing import print_fitted


def show_messages() -> None:
    """Send the messages of this process to the terminal, once however often it is called. Only rank 0 shows them."""
    from triptych.training.distributed import is_rank_zero  # imported late: it imports torch

    log = logging.getLogger("triptych")
    if any(isinstance(handler, _Show) for handler in log.handlers):
        return
    log.setLevel(logging.INFO)
    log.propagate = False
    for show, form, fits in (
        (print_fitted, "%(message)s", lambda record: record.levelno < logging.WARNING),
        (
            lambda text: print_fitted(text, sys.stderr),
            "triptych: %(message)s",
            lambda record: record.levelno >= logging.WARNING,
        ),
    ):
        handler = _Show(show)
        handler.setFormatter(logging.Formatter(form))
        handler.addFilter(fits)
        handler.addFilter(lambda record: is_rank_zero())
        log.addHandler(handler)


def show_progress() -> None:
    """Show on standard error how far long work on lines has come, if that is a terminal. Nothing else is shown."""
    log = logging.getLogger("triptych.decoding.progress")
    if sys.stderr.isatty() and not log.handlers:
        log.setLevel(logging.INFO)
        log.addHandler(_Show(lambda text: print_fitted(text, sys.stderr)))


class _Show(logging.Handler):
    """Pass each formatted message to a function, which finds the standard streams as they are at that time."""

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__()
        self.show = show

    def emit(self, record: logging.LogRecord) -> None:
        self.show(self.format(record))
