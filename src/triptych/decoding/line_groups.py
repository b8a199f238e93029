"""Lines of text in groups to translate at a time: what a stream or a prompt has brought so far, or part of a file."""

from __future__ import annotations

import codecs
import io
import select
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from triptych.data.text_file import read_lines
from triptych.errors import UserError

GROUP_LINES = 2000
"""Lines of a group, so that translations come out while the rest of a long text is still to be translated."""
_BLOCK_BYTES = 2**16
"""Number of bytes read from a stream at a time; a pipe on Linux holds as many."""


def groups_of_stream(stream: BinaryIO, name: str = "standard input") -> Iterator[list[str]]:
    """Yield stripped lines of UTF-8 text as they arrive: wait for a line, and take along what is there already.

    A byte order mark before the first line is no part of it, as in a file.

    Args:
        stream: read by ``read1``, so that nothing waits for a full buffer.
        name: what the message of an error calls it.

    Yields:
        Groups of one line or more, little more than ``GROUP_LINES`` of them. A last line need not end in a line feed.

    Raises:
        UserError: bytes that are not UTF-8, after the lines before them were yielded.
    """
    rest, number, ended = b"", 0, False
    while not ended:
        blocks, count = [rest], 0
        while not (ended or (count and (count >= GROUP_LINES or not _is_readable(stream)))):
            block = stream.read1(_BLOCK_BYTES)  # type: ignore[attr-defined]
            ended = not block
            blocks.append(block)
            count += block.count(b"\n")
        *lines, rest = b"".join(blocks).split(b"\n")
        if ended and rest:
            lines.append(rest)
        group = []
        for line in lines:
            number += 1
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            try:
                group.append(line.decode().strip())
            except UnicodeDecodeError as error:
                yield from [group] if group else []
                raise UserError(f"{name}, line {number}, is not UTF-8; convert it first.") from error
        yield from [group] if group else []


def groups_of_file(path: Path) -> Iterator[list[str]]:
    """Yield the lines of a file, plain or gzip, ``GROUP_LINES`` at a time.

    Raises:
        UserError: as ``text_file.read_lines``.
    """
    lines = read_lines(path)
    while group := list(islice(lines, GROUP_LINES)):
        yield group


def count_lines(path: Path) -> int | None:
    """Return the number of lines of a plain file; None for a compressed one, and for a pipe, which can be read once."""
    if path.suffix == ".gz" or not path.is_file():
        return None
    count, last = 0, b"\n"
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            count, last = count + block.count(b"\n"), block[-1:]
    return count + (last != b"\n")


def _is_readable(stream: BinaryIO) -> bool:
    """Whether reading would not wait. True of streams that are no file of the operating system, such as ``BytesIO``."""
    try:
        ready, _, _ = select.select([stream], [], [], 0)
    except (io.UnsupportedOperation, ValueError):
        return True
    return bool(ready)
