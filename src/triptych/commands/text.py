"""Text that commands on a run read and write: standard input, a prompt on a terminal, files."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

from omegaconf import DictConfig

from triptych.errors import UserError
from triptych.files import require_file, require_output, writing


def asks_on_terminal(given: str | None) -> bool:
    """Whether the lines come from somebody who types them. ``given`` is the value of ``input``."""
    return given is None and sys.stdin is not None and sys.stdin.isatty()


def typed_lines(prompt: str) -> Iterator[list[str]]:
    """Yield the lines that somebody types, each as a group of its own, until Ctrl-D."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  gives ``input`` a history, and arrow keys that work
    shown = prompt if sys.stdout.isatty() else ""
    while True:
        try:
            yield [input(shown).strip()]
        except EOFError:
            if shown:
                print()
            return


def check_files(config: DictConfig, *keys: str) -> None:
    """Check the files that a configuration names before a model is loaded: those of ``keys``, to read, and ``output``.

    Raises:
        UserError: a file to read is not there, or the one to write cannot be written.
    """
    for key in keys:
        if config[key] is not None:
            require_file(key, Path(config[key]).expanduser())
    if config.output is not None:
        require_output(config.output, {key: config[key] for key in keys if config[key] is not None})


def input_stream() -> BinaryIO:
    """Return standard input.

    Raises:
        UserError: it is closed.
    """
    if sys.stdin is None:
        raise UserError("standard input is closed; give input=FILE, or text through a pipe.")
    return sys.stdin.buffer


def output_file(given: str | None) -> AbstractContextManager[BinaryIO]:
    """Give the file to write to: standard output, or what ``files.writing`` gives."""
    return nullcontext(sys.stdout.buffer) if given is None else writing(Path(given).expanduser())
