"""The exception for mistakes that a user can correct, checks that raise it, and reports of all other errors."""

from __future__ import annotations

import contextlib
import platform
import re
import shlex
import sys
import tempfile
import traceback
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

REPORTS = "~/.cache/triptych/errors"
"""Folder of the reports of errors that are no mistake of the user's; the system's temporary one if it is read-only."""


class UserError(Exception):
    """One clear sentence: what is wrong, where, and what to do. The command line prints it and exits with code 2."""


def require_at_least(minimum: float, section: str, **given: float | None) -> None:
    """Check keys of one section of the config against a minimum. None means "no limit" and passes.

    Raises:
        UserError: a value is below the minimum.
    """
    for key, value in given.items():
        if value is not None and not value >= minimum:
            raise UserError(f"{section}.{key}={value} must be at least {minimum}.")


def require_probability(section: str, **given: float) -> None:
    """Check that keys of one section of the config are at least 0 and below 1.

    Raises:
        UserError: a value is outside this range.
    """
    for key, value in given.items():
        if not 0 <= value < 1:
            raise UserError(f"{section}.{key}={value} is no probability; give 0 or more, and less than 1.")


def require_one_of(options: Iterable[str], section: str, **given: str) -> None:
    """Check that keys of one section of the config (``""``: its top level) have one of the allowed values.

    Raises:
        UserError: a value is not among the options.
    """
    for key, value in given.items():
        if value not in options:
            name = f"{section}.{key}" if section else key
            raise UserError(f"{name}={value} is unknown; choose one of {', '.join(options)}.")


def one_line(text: object) -> str:
    """Return the text of an error as one line, without the full stop at its end and not longer than a few lines."""
    line = " ".join(str(text).split()).rstrip(".")
    return line if len(line) <= 300 else f"{line[:300]} …"


def printable(text: str) -> str:
    """Return a text with ? for control characters, which a terminal would obey. Line breaks and tabs stay."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "?", text)


def is_shortage_of_memory(error: BaseException) -> bool:
    """Return whether an error says that the memory of the machine or of its GPU did not suffice."""
    said = re.search(r"out of memory|can't allocate memory|bad alloc", str(error))
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and said is not None)


def report_unexpected(error: BaseException) -> str:
    """Write the traceback of an error that is no mistake of the user's to a file, and return the sentence for the user.

    The file also has the command line and the versions, so that it can be handed in as it is.
    """
    name = f"{datetime.now():%Y%m%d-%H%M%S-%f}.txt"
    text = "\n".join(
        [
            f"triptych {_version()}, Python {platform.python_version()}, {platform.platform()}",
            f"command: {shlex.join(sys.argv)}",
            "",
            "".join(traceback.format_exception(error)),
        ]
    )
    said = one_line(": ".join(filter(None, (type(error).__name__, str(error)))))
    for place in (REPORTS, tempfile.gettempdir()):
        with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: a user without a home
            folder = Path(place).expanduser()
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
            return (
                f"an error that should not happen ({said}); {folder / name} says where: please open an issue with it."
            )
    return f"an error that should not happen, and no report of it could be written: {said}."


def _version() -> str:
    from triptych import __version__

    return __version__
