"""Show messages on the command line within the width of the terminal: on standard output, errors on standard error."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

from triptych.commands.printing import print_fitted
from triptych.training.distributed import is_rank_zero


def show_messages() -> None:
    """Send the messages of this process to the terminal, once however often it is called. Only rank 0 shows them."""
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


class _Show(logging.Handler):
    """Pass each formatted message to a function, which finds the standard streams as they are at that time."""

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__()
        self.show = show

    def emit(self, record: logging.LogRecord) -> None:
        self.show(self.format(record))
