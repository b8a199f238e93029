"""Text by the line: read from files block by block, and kept on disk, so that a corpus of any size can be opened.

Lines are split at ``\\n`` alone and lose only their outer white space.
"""

from __future__ import annotations

import gzip
import hashlib
import mmap
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import overload

import numpy as np

from triptych.errors import UserError

_BYTES = 2**20
"""Read at a time."""
_LINES = 10_000
"""Decoded at a time."""


def read(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, plain or gzip, without outer white space (nor a byte order mark).

    Raises:
        UserError: for a file that cannot be unpacked, or bytes that are not UTF-8, with the line's number.
    """
    number, parts = 0, list[bytes]()
    for block in _blocks(path):
        whole, newline, rest = block.rpartition(b"\n")
        if newline:
            lines = _decode(path, b"".join([*parts, whole]), number)
            number += len(lines)
            parts = []
            yield from lines
        parts.append(rest)
    if rest := b"".join(parts):
        yield from _decode(path, rest, number)


def _blocks(path: Path) -> Iterator[bytes]:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        try:
            while block := file.read(_BYTES):
                yield block
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise UserError(f"{path} is not a whole gzip file; fetch or pack it again.") from error


def _decode(path: Path, text: bytes, number: int) -> list[str]:
    """Lines that come after ``number`` others."""
    try:
        lines = text.decode().split("\n")
    except UnicodeDecodeError as error:
        line = number + 1 + text.count(b"\n", 0, error.start)
        raise UserError(f"{path}:{line} has bytes that are not UTF-8; convert the file to UTF-8.") from error
    if number == 0:
        lines[0] = lines[0].removeprefix("\ufeff")
    return [line.strip() for line in lines]


class _Stored(Sequence[str]):
    """Lines of which any stretch can be had without the others."""

    digest: str

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            return self._between(start, stop) if step == 1 else [self[i] for i in range(start, stop, step)]
        place = range(len(self))[place]
        (line,) = self._between(place, place + 1)
        return line

    @abstractmethod
    def _between(self, start: int, stop: int) -> list[str]: ...


class Lines(_Stored):
    """Lines on disk, as ``Writer`` has written them, by memory map.

    Attributes:
        digest: SHA-256 of the text.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._text = _map(path)
        self._ends = np.load(path.with_suffix(".ends.npy"), mmap_mode="r").view(np.ndarray)
        self.digest = path.with_suffix(".sha256").read_text()

    def __reduce__(self) -> tuple[type[Lines], tuple[Path]]:
        # A worker process opens the map anew instead of being sent a copy of the text.
        return Lines, (self._path,)

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _LINES):
            yield from self._between(start, min(start + _LINES, len(self)))

    def _between(self, start: int, stop: int) -> list[str]:
        if stop <= start:
            return []
        begin = int(self._ends[start - 1]) if start else 0
        return self._text[begin : int(self._ends[stop - 1]) - 1].decode().split("\n")


class Joined(_Stored):
    """Lines one after the other that stay where they are.

    Attributes:
        digest: SHA-256 of the digests of the parts.
    """

    def __init__(self, parts: Sequence[Sequence[str]]) -> None:
        self._parts = list(parts)
        self._starts = [0, *accumulate(map(len, parts))]
        self.digest = hashlib.sha256("".join(map(digest, parts)).encode()).hexdigest()

    def __len__(self) -> int:
        return self._starts[-1]

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._parts)

    def _between(self, start: int, stop: int) -> list[str]:
        ranges = [
            part[max(start - first, 0) : max(stop - first, 0)]
            for first, part in zip(self._starts, self._parts, strict=False)
        ]
        return list(chain.from_iterable(ranges))


def _map(path: Path) -> mmap.mmap | bytes:
    with path.open("rb") as file:  # an empty file cannot be mapped
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""


class Writer:
    """Writes lines that none has a line feed, for ``Lines`` to read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        self._digest = hashlib.sha256()
        self._lengths: list[np.ndarray] = []

    def add(self, lines: Sequence[str]) -> None:
        encoded = [f"{line}\n".encode() for line in lines]
        text = b"".join(encoded)
        self._file.write(text)
        self._digest.update(text)
        self._lengths.append(np.fromiter(map(len, encoded), np.int32, count=len(encoded)))

    def close(self) -> None:
        self._file.close()
        lengths = np.concatenate(self._lengths or [np.empty(0, np.int32)])
        np.save(self._path.with_suffix(".ends.npy"), np.cumsum(lengths, dtype=np.int64))
        self._path.with_suffix(".sha256").write_text(self._digest.hexdigest())


def digest(lines: Sequence[str]) -> str:
    """SHA-256 of lines, wherever they are: what ``Lines.digest`` is, of a list."""
    if isinstance(lines, _Stored):
        return lines.digest
    text = hashlib.sha256()
    for line in lines:
        text.update(f"{line}\n".encode())
    return text.hexdigest()
