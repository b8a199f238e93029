"""Corpora: sentence pairs from files, checked, with a report of what the checks found.

Lines are split at ``\\n`` alone and lose only their outer white space. A pair with an empty side is dropped from
training and kept everywhere else: a test set is never shortened, or its scores would not be the published test set's.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from triptych.data import toy
from triptych.errors import UserError, require_at_least

TRAIN, VALIDATION = "train", "validation"


class Pairs(NamedTuple):
    """Two lists of the same length: a line of ``src`` is translated by the line of ``tgt`` at the same place."""

    src: list[str]
    tgt: list[str]


@dataclass
class Corpus:
    """Checked sentence pairs.

    Attributes:
        name: of the source, for tables and cache folders.
        languages: source and target language.
        splits: ``train``, ``validation`` and every test set, by name.
        report: one line a check, with its counts.
        max_length: training pairs with more pieces on either side are left out; ``None`` for no limit.
        max_length_ratio: training pairs whose longer side has more than this many times the pieces of the shorter
            are left out; ``None`` for no limit.

    Raises:
        UserError: where a split has no pairs, or a limit is below 1.
    """

    name: str
    languages: tuple[str, str]
    splits: dict[str, Pairs]
    report: list[str]
    max_length: int | None = None
    max_length_ratio: float | None = None

    def __post_init__(self) -> None:
        for split, pairs in self.splits.items():
            if not pairs.src:
                raise UserError(f"data: the {split} split of the corpus '{self.name}' has no sentence pairs left.")
        require_at_least(1, "data", max_length=self.max_length, max_length_ratio=self.max_length_ratio)

    @property
    def test_names(self) -> list[str]:
        return [name for name in self.splits if name not in (TRAIN, VALIDATION)]

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits over the languages, the names of the splits and every line."""
        digest = hashlib.sha256(json.dumps(self.languages).encode())
        for name, pairs in self.splits.items():
            for lines in pairs:
                digest.update(json.dumps([name, len(lines)]).encode())
                digest.update("\n".join(lines).encode())
        return digest.hexdigest()[:16]


class ToyCorpus(Corpus):
    """The built-in corpus (``toy.py``): English and French sentences of a small grammar, made from ``seed``.

    Args:
        train: number of sentence pairs; ``validation``, ``test`` and ``test_long`` likewise.
        max_length: see ``Corpus``; ``max_length_ratio`` likewise.
    """

    def __init__(
        self,
        *,
        seed: int,
        train: int,
        validation: int,
        test: int,
        test_long: int,
        max_length: int | None,
        max_length_ratio: float | None,
    ) -> None:
        made = toy.splits(seed=seed, train=train, validation=validation, test=test, test_long=test_long)
        splits = {name: Pairs(*sides) for name, sides in made.items()}
        report = [f"{name}: {len(pairs.src):,} pairs made" for name, pairs in splits.items()]
        super().__init__("toy", (toy.LANGUAGES[0], toy.LANGUAGES[1]), splits, report, max_length, max_length_ratio)


class TextCorpus(Corpus):
    """Files of one sentence a line, ``{dir}/{prefix}.{language}``, plain or with ``.gz`` behind.

    Args:
        name: of the corpus.
        src: source language, the ending of its files; ``tgt`` likewise.
        dir: the folder.
        train: prefix of the training files; ``validation`` likewise.
        test: prefixes of the test sets; each names its set (without the folder, where it has one).
        max_length: see ``Corpus``; ``max_length_ratio`` likewise.

    Raises:
        UserError: for a missing file, bytes that are not UTF-8, sides of unequal length or an empty split.
    """

    def __init__(
        self,
        *,
        name: str,
        src: str,
        tgt: str,
        dir: str,
        train: str,
        validation: str,
        test: Sequence[str],
        max_length: int | None,
        max_length_ratio: float | None,
    ) -> None:
        prefixes = {TRAIN: train, VALIDATION: validation, **test_sets(test)}
        splits, report = read_splits(Path(dir).expanduser(), prefixes, (src, tgt))
        super().__init__(name, (src, tgt), splits, report, max_length, max_length_ratio)


def test_sets(prefixes: Sequence[str]) -> dict[str, str]:
    """Names of test sets to their prefixes.

    Raises:
        UserError: where ``data.test`` is not a list, or gives a name twice.
    """
    if isinstance(prefixes, str):
        raise UserError(f"data.test={prefixes} must be a list of test sets, such as data.test=[{prefixes}].")
    named: dict[str, str] = {}
    for prefix in prefixes:
        name = Path(prefix).name
        if name in (*named, TRAIN, VALIDATION):
            raise UserError(f"data.test names a set '{name}' that is already there; give its files another name.")
        named[name] = prefix
    return named


def read_splits(
    folder: Path, prefixes: dict[str, str], languages: tuple[str, str]
) -> tuple[dict[str, Pairs], list[str]]:
    """Reads and checks the files of every split (name to prefix); returns the splits and the report.

    Raises:
        UserError: as ``TextCorpus``.
    """
    if languages[0] == languages[1]:
        raise UserError(f"data.src and data.tgt are both {languages[0]}; give two languages.")
    splits, report = {}, []
    for name, prefix in prefixes.items():
        files = [find_file(folder, prefix, language) for language in languages]
        src, tgt = (read_lines(file) for file in files)
        if len(src) != len(tgt):
            raise UserError(
                f"{files[0]} has {len(src):,} lines and {files[1]} has {len(tgt):,}; line by line they must be"
                " translations of each other."
            )
        report.append(f"{name}: {len(src):,} pairs read from {files[0].name} and {files[1].name}")
        full = [(s, t) for s, t in zip(src, tgt, strict=True) if s and t]
        if empty := len(src) - len(full):
            report.append(f"{name}: {empty:,} pairs with an empty line {'dropped' if name == TRAIN else 'kept'}")
        if empty and name == TRAIN:
            src, tgt = [s for s, _ in full], [t for _, t in full]
        splits[name] = Pairs(src, tgt)
    return splits, report


def find_file(folder: Path, prefix: str, language: str) -> Path:
    """``{folder}/{prefix}.{language}`` or the same with ``.gz``.

    Raises:
        UserError: where neither is there, naming the languages that are.
    """
    plain = folder / f"{prefix}.{language}"
    for path in (plain, plain.with_name(f"{plain.name}.gz")):
        if path.is_file():
            return path
    if not plain.parent.is_dir():
        raise UserError(f"data.dir: there is no folder '{plain.parent}'.")
    stem = f"{plain.name.removesuffix(language)}"
    there = {path.name.removeprefix(stem).removesuffix(".gz") for path in plain.parent.glob(f"{stem}*")}
    known = f"'{prefix}' is there in {', '.join(sorted(there))}" if there else f"nothing there is named '{stem}*'"
    raise UserError(f"data: there is neither '{plain}' nor '{plain.name}.gz'; {known}.")


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file, plain or gzip, without outer white space (nor a byte order mark).

    Raises:
        UserError: for a file that cannot be unpacked, or bytes that are not UTF-8, with the line's number.
    """
    data = path.read_bytes()
    if path.suffix == ".gz":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"{path} is not a whole gzip file; fetch or pack it again.") from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}:{line} has bytes that are not UTF-8; convert the file to UTF-8.") from error
    lines = text.removeprefix("\ufeff").split("\n")
    return [line.strip() for line in (lines if lines[-1] else lines[:-1])]
