"""Files of one sentence per line: read in blocks, stored on disk, and opened by memory map.

Lines end at ``\\n`` only and are stripped of white space at both ends. Nothing here holds a whole file in memory, so a
corpus of any size can be opened.
"""

from __future__ import annotations

import gzip
import hashlib
import mmap
import os
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from triptych.errors import UserError

_BLOCK_BYTES = 2**20
"""Number of bytes read from a file at a time."""
_LINE_FEED = ord("\n")
_BLOCK_LINES = 10_000
"""Number of stored lines decoded at a time."""


def read_lines(path: Path, strip: str | None = None) -> Iterator[str]:
    """Yield the stripped lines of a UTF-8 file, plain or gzip, without a byte order mark.

    Args:
        path: of the file.
        strip: characters to strip from both ends; None for white space.

    Raises:
        UserError: the gzip file is broken, or bytes are not UTF-8 (the message gives the line number).
    """
    number, parts = 0, list[bytes]()
    for block in _read_blocks(path):
        whole, newline, rest = block.rpartition(b"\n")
        if newline:
            lines = _decode(path, b"".join([*parts, whole]), number, strip)
            number += len(lines)
            parts = []
            yield from lines
        parts.append(rest)
    if rest := b"".join(parts):
        yield from _decode(path, rest, number, strip)


def _read_blocks(path: Path) -> Iterator[bytes]:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        try:
            while block := file.read(_BLOCK_BYTES):
                yield block
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise UserError(f"{path} is not a complete gzip file; download or compress it again.") from error


def _decode(path: Path, text: bytes, number: int, strip: str | None) -> list[str]:
    """Decode a block of lines. ``number`` is the number of lines before the block."""
    try:
        lines = text.decode().split("\n")
    except UnicodeDecodeError as error:
        line = number + 1 + text.count(b"\n", 0, error.start)
        raise UserError(f"{path}:{line} has bytes that are not UTF-8; convert the file to UTF-8.") from error
    if number == 0:
        lines[0] = lines[0].removeprefix("\ufeff")
    return [line.strip(strip) for line in lines]


class _LineSequence(Sequence[str]):
    """A sequence of lines that loads any range of lines without loading the others.

    Attributes:
        digest: hash that identifies the text.
    """

    digest: str

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            return self._load(start, stop) if step == 1 else [self[i] for i in range(start, stop, step)]
        index = range(len(self))[index]
        (line,) = self._load(index, index + 1)
        return line

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _BLOCK_LINES):
            yield from self._load(start, min(start + _BLOCK_LINES, len(self)))

    @abstractmethod
    def _load(self, start: int, stop: int) -> list[str]:
        """Return the lines from ``start`` up to, not including, ``stop``."""


class LineFile(_LineSequence):
    """Lines on disk, written by ``LineWriter`` and opened by memory map.

    Attributes:
        digest: SHA-256 of the text, as 64 hexadecimal digits.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._text = _map_file(path)
        self._ends = np.load(path.with_suffix(".ends.npy"), mmap_mode="r").view(np.ndarray)
        self.digest = path.with_suffix(".sha256").read_text()

    def __reduce__(self) -> tuple[type[LineFile], tuple[Path]]:
        # A worker process opens its own memory map instead of receiving a copy of the text.
        return LineFile, (self._path,)

    def __len__(self) -> int:
        return len(self._ends)

    def _load(self, start: int, stop: int) -> list[str]:
        if stop <= start:
            return []
        begin = int(self._ends[start - 1]) if start else 0
        return self._text[begin : int(self._ends[stop - 1]) - 1].decode().split("\n")


class ConcatenatedLines(_LineSequence):
    """Several sequences of lines as one, without copying them.

    Attributes:
        digest: SHA-256 of the digests of the parts.
    """

    def __init__(self, parts: Sequence[Sequence[str]]) -> None:
        self._parts = list(parts)
        self._starts = [0, *accumulate(map(len, parts))]
        self.digest = hashlib.sha256("".join(map(digest_lines, parts)).encode()).hexdigest()

    def __len__(self) -> int:
        return self._starts[-1]

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._parts)

    def _load(self, start: int, stop: int) -> list[str]:
        ranges = [
            part[max(start - first, 0) : max(stop - first, 0)]
            for first, part in zip(self._starts, self._parts, strict=False)
        ]
        return list(chain.from_iterable(ranges))


class JoinedLines(_LineSequence):
    """Consecutive lines joined by a space, without copying them. Empty lines add nothing.

    The ends are held in memory, 8 bytes each.

    Args:
        lines: the lines.
        ends: (n,) ascending; joined line i has the lines from ``ends[i - 1]``, or 0, up to, not including, ``ends[i]``.

    Attributes:
        digest: SHA-256 of the digest of the lines and of the ends.
    """

    def __init__(self, lines: Sequence[str], ends: NDArray[np.int64]) -> None:
        self._lines = lines
        self._ends = ends
        self.digest = hashlib.sha256(digest_lines(lines).encode() + ends.astype("<i8").tobytes()).hexdigest()

    def __len__(self) -> int:
        return len(self._ends)

    def _load(self, start: int, stop: int) -> list[str]:
        if stop <= start:
            return []
        first = int(self._ends[start - 1]) if start else 0
        bounds = [0, *(self._ends[start:stop] - first).tolist()]
        lines = self._lines[first : first + bounds[-1]]
        return [" ".join(filter(None, lines[begin:end])) for begin, end in pairwise(bounds)]


def _map_file(path: Path) -> mmap.mmap | bytes:
    with path.open("rb") as file:  # an empty file cannot be mapped
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""


class LineWriter:
    """Write lines to disk for ``LineFile``. No line may contain a line feed.

    ``close`` writes two more files: the end of each line in bytes (``.ends.npy``) and the SHA-256 (``.sha256``).

    Args:
        path: of the file.
        size: number of bytes of an earlier, interrupted writer to go on from.
    """

    def __init__(self, path: Path, size: int = 0) -> None:
        self._path = path
        self._file = path.open("r+b" if size else "wb")
        self._file.truncate(size)
        self._file.seek(size)

    def add(self, lines: Sequence[str]) -> None:
        """Append lines."""
        self._file.write("".join(f"{line}\n" for line in lines).encode())

    def flush(self) -> int:
        """Bring all lines to the disk, and return the size of the file in bytes."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        """Finish the file; ``LineFile`` can open it from then on."""
        self._file.close()
        digest, ends, size = hashlib.sha256(), [np.empty(0, np.int64)], 0
        with self._path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
                ends.append(size + 1 + np.flatnonzero(np.frombuffer(block, np.uint8) == _LINE_FEED))
                size += len(block)
        np.save(self._path.with_suffix(".ends.npy"), np.concatenate(ends))
        self._path.with_suffix(".sha256").write_text(digest.hexdigest())


def digest_lines(lines: Sequence[str]) -> str:
    """Return the SHA-256 of lines: the stored ``digest`` of lines on disk, or the same hash computed from a list."""
    if isinstance(lines, _LineSequence):
        return lines.digest
    text = hashlib.sha256()
    for line in lines:
        text.update(f"{line}\n".encode())
    return text.hexdigest()
