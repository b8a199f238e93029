"""Where the sentence pairs of a split come from: what a source offers, and the plain one, two files of sentences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from triptych.data.text_file import read_lines
from triptych.errors import UserError


class PairSource(ABC):
    """Sentence pairs that can be read again, in the same order."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What reports call the source, such as ``train.en and train.fr``."""

    @property
    @abstractmethod
    def identity(self) -> Sequence[Any]:
        """Values that JSON can hold, and that change when the pairs change."""

    @abstractmethod
    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield the source and the target sentence of each pair. No sentence has a line feed."""


def file_identity(path: Path) -> list[Any]:
    """Return what changes when a file changes: its path, its size, and when its content and its inode were changed."""
    stat = path.stat()
    return [str(path.resolve()), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


@dataclass(frozen=True)
class TextFormat:
    """How a file of sentences is read.

    Attributes:
        name: part of the identity of what is read.
        sentences_of: yields the sentences of a file.
    """

    name: str
    sentences_of: Callable[[Path], Iterator[str]]


PLAIN = TextFormat("plain", read_lines)
"""Files of one sentence per line."""


@dataclass(frozen=True)
class FilePair(PairSource):
    """A file with the source sentences, and one with the target sentences."""

    src: Path
    tgt: Path
    text_format: TextFormat = PLAIN

    @property
    def name(self) -> str:
        """Names of both files."""
        return f"{self.src.name} and {self.tgt.name}"

    @property
    def identity(self) -> Sequence[Any]:
        """The format, and the identities of both files."""
        return [self.text_format.name, file_identity(self.src), file_identity(self.tgt)]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield the sentences of both files in pairs.

        Raises:
            UserError: as ``sentences_of``, or one file has more sentences than the other.
        """
        files = self.src, self.tgt
        sides = [self.text_format.sentences_of(file) for file in files]
        for number, (src, tgt) in enumerate(zip_longest(*sides)):
            if src is None or tgt is None:
                counts = [number, number]
                longer = 1 if src is None else 0
                counts[longer] += 1 + sum(1 for _ in sides[longer])
                raise UserError(
                    f"{files[0]} has {counts[0]:,} lines and {files[1]} has {counts[1]:,}; line by line they must be"
                    " translations of each other."
                )
            yield src, tgt
