"""Standard streams that are closed, full or unread: no result is lost in silence."""

from __future__ import annotations

import io
import os
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from triptych.errors import UserError

FILES = ("train", "report", "attend", "dashboard", "serve", "export")
"""Commands whose result is in files, so that they work without standard output. So do others with ``output=FILE``."""


class _Closed(io.TextIOWrapper):
    """Stands for a standard stream that was closed when the program started; what is written to it is lost."""


def prepare() -> None:
    """Open closed streams, so that no file takes their numbers; name standard output in the errors of its writes.

    Letters that a terminal lacks are shown as ?.
    """
    for number, name in enumerate((None, "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            if name:  # standard input stays None if it is closed: commands look for that
                setattr(sys, name, _Closed(io.FileIO(number, "w", closefd=False), encoding="utf-8", write_through=True))
    for stream in (sys.stdout, sys.stderr):
        getattr(stream, "reconfigure", dict)(errors="replace")  # a stream of a program that imports this may lack it
    if _is_of_process():
        raw: Any = getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)  # the latter with PYTHONUNBUFFERED
        if "write" not in vars(raw):  # a program may run several commands
            raw.write = _named(raw.write)


def require_output(arguments: Sequence[str]) -> None:
    """Check that standard output was open at the start, if the result of a command line goes there.

    Raises:
        UserError: it was closed.
    """
    if not isinstance(sys.stdout, _Closed):
        return
    from triptych.commands.arguments import shows_only  # imported late: it imports Hydra

    is_file = any(one in FILES for one in arguments[:1]) or any(one.startswith("output=") for one in arguments)
    if shows_only(arguments) or not is_file:
        raise UserError("standard output is closed, so the result would be lost; leave out >&-, or give > FILE.")


@contextmanager
def flushed() -> Iterator[None]:
    """Flush standard output at the end of the block, so that a failure is an error of the block.

    That is also the end where the block exits, as argparse does after ``--help``.
    """
    try:
        yield
    except SystemExit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()


def drop_unwritten() -> None:
    """Drop what standard output could not write. Python would try once more when it exits, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        if _is_of_process():
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def nobody_reads() -> bool:
    """Whether the reader of standard output or of standard error has left. Other pipes break too, as to a process."""
    if not hasattr(select, "poll"):  # Windows
        return True
    poll = select.poll()
    for number in (1, 2):
        poll.register(number, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _is_of_process() -> bool:
    """Whether standard output is that of the process. A test or a notebook puts another in its place."""
    return sys.stdout is not None and sys.stdout is sys.__stdout__


def _named(write: Callable[[bytes], int]) -> Callable[[bytes], int]:
    """Return a function that writes, and whose errors name standard output as those of a file name the file."""

    def named(data: bytes) -> int:
        try:
            return write(data)
        except OSError as error:
            error.filename = "standard output"
            raise

    return named
