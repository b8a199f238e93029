"""The boundary of the program: whatever happens inside ends as one sentence and an exit status."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from triptych.errors import report_unexpected

UNEXPECTED, MISTAKE = 1, 2
INTERRUPTED, UNREAD, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGPIPE, 128 + signal.SIGTERM
"""Exit statuses; these three as a shell has them after Ctrl-C, a reader that has left, and SIGTERM."""


def guarded(work: Callable[[], int]) -> int:
    """Do the work of the command line and return its exit status; turn what it raises into a sentence and a status."""
    _prepare_streams()
    try:
        with _sigterm_unwinds():
            status = work()
            sys.stdout.flush()  # a pipe that the reader has closed is noticed here, not when Python exits
            return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _nobody_reads():
            if sys.stdout is sys.__stdout__:  # Python would try to write what is left once more, and complain
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return UNREAD
        from triptych.commands.printing import print_fitted
        from triptych.config.explanations import explain  # imports Hydra

        sentence = explain(error)
        with suppress(OSError):  # nobody may be there to be told
            print_fitted(f"triptych: {sentence or report_unexpected(error)}", sys.stderr)
        return MISTAKE if sentence else UNEXPECTED


def _prepare_streams() -> None:
    """Open streams that were closed, so that no file takes their numbers; show letters that a terminal lacks as ?."""
    for number, name in enumerate((None, "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            if name:  # a closed standard input stays None, by which commands know that there is no text
                setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        getattr(stream, "reconfigure", dict)(errors="replace")  # a stream of a program that imports this may lack it


def _nobody_reads() -> bool:
    """Whether the reader of standard output or of standard error has left. Other pipes break too, as to a process."""
    if not hasattr(select, "poll"):  # Windows
        return True
    poll = select.poll()
    for number in (1, 2):
        poll.register(number, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


@contextmanager
def _sigterm_unwinds() -> Iterator[None]:
    """Let SIGTERM end the program as an exception does, so that unfinished files are removed. Main thread alone."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
