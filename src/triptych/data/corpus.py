"""Corpora: sentence pairs from files, checked, with a report of what the checks found.

A pair with an empty side is dropped from training and kept everywhere else: a test set is never shortened, or its
scores would not be the published test set's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, zip_longest
from pathlib import Path
from typing import NamedTuple

from triptych.contract.vocabulary import SIDES
from triptych.data import text_file as lines
from triptych.data import toy
from triptych.data.directions import Direction, Directions, Route
from triptych.errors import UserError, require_at_least
from triptych.files import replacing

TRAIN, VALIDATION = "train", "validation"
_FORMAT = 1
"""Of the stored text; another one reads every file anew."""
_BLOCK = 10_000
"""Pairs checked and stored at a time."""


class Pairs(NamedTuple):
    """As many lines of one side as of the other: ``src[i]`` is translated by ``tgt[i]``."""

    src: Sequence[str]
    tgt: Sequence[str]


class Section(NamedTuple):
    """How so many consecutive pairs of a split are translated."""

    route: Route
    size: int


@dataclass
class Corpus:
    """Checked sentence pairs, of one direction or of several one after the other.

    Attributes:
        name: of the source, for tables and cache folders.
        languages: source and target language; of several directions, each language once.
        splits: ``train``, ``validation`` and every test set, by name.
        report: one line a check, with its counts.
        max_length: training pairs with more pieces on either side are left out; ``None`` for no limit.
        max_length_ratio: training pairs whose longer side has more than this many times the pieces of the shorter
            are left out; ``None`` for no limit.
        sections: how the pairs of each split are translated, in order; left out, all by the one direction.

    Raises:
        UserError: where a direction of a split has no pairs, or a limit is below 1.
    """

    name: str
    languages: tuple[str, ...]
    splits: dict[str, Pairs]
    report: list[str]
    max_length: int | None = None
    max_length_ratio: float | None = None
    sections: dict[str, list[Section]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for split, pairs in self.splits.items():
            for route, size in self.sections.setdefault(split, [Section(self.languages, len(pairs.src))]):
                if not size:
                    raise UserError(
                        f"data: the {split} split of the corpus '{self.name}' has no sentence pairs left, "
                        f"{route[0]} to {route[-1]}."
                    )
        require_at_least(1, "data", max_length=self.max_length, max_length_ratio=self.max_length_ratio)

    @property
    def test_names(self) -> list[str]:
        return [name for name in self.splits if name not in (TRAIN, VALIDATION)]

    @property
    def mixed(self) -> bool:
        """Whether training is of several directions."""
        return len(self.sections[TRAIN]) > 1

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits over the languages, the names of the splits and every line."""
        text = [[name, *map(lines.digest, pairs)] for name, pairs in self.splits.items()]
        return hashlib.sha256(json.dumps([self.languages, text]).encode()).hexdigest()[:16]


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
        src: source language of the test sets, the ending of its files; ``tgt`` likewise.
        dir: the folder.
        train: prefix of the training files; ``validation`` likewise.
        test: prefixes of the test sets; each names its set (without the folder, where it has one).
        cache: where the checked text is kept, in its folder ``text``.
        max_length: see ``Corpus``; ``max_length_ratio`` likewise.
        directions: those of training and validation, see ``Directions.of``; ``pivot`` likewise.

    Raises:
        UserError: for directions that cannot be, a missing file, bytes that are not UTF-8, sides of unequal length or
            an empty split.
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
        cache: str,
        max_length: int | None,
        max_length_ratio: float | None,
        directions: Sequence[str] | None,
        pivot: str | None,
    ) -> None:
        prefixes = {TRAIN: train, VALIDATION: validation, **test_sets(test)}
        chosen = Directions.of(directions, src, tgt, pivot)
        splits, sections, report = read_splits(Path(dir).expanduser(), prefixes, chosen, Path(cache).expanduser())
        super().__init__(name, chosen.languages, splits, report, max_length, max_length_ratio, sections)


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
    folder: Path, prefixes: dict[str, str], directions: Directions, cache: Path
) -> tuple[dict[str, Pairs], dict[str, list[Section]], list[str]]:
    """Reads and checks the files of every split (name to prefix); returns the splits, their sections and the report.

    What was read is kept in the folder ``text`` of the cache, and opened from there until a file changes.

    Raises:
        UserError: as ``TextCorpus``.
    """
    splits: dict[str, Pairs] = {}
    sections: dict[str, list[Section]] = {}
    report: list[str] = []
    for name, prefix in prefixes.items():
        if name in (TRAIN, VALIDATION):
            parts = [read_split(folder, name, prefix, direction, cache, report) for direction in directions.trained]
            splits[name] = parts[0] if len(parts) == 1 else Pairs(*map(lines.Joined, zip(*parts, strict=True)))
            sizes = zip(directions.trained, (len(part.src) for part in parts), strict=True)
            sections[name] = [Section(direction, size) for direction, size in sizes]
            continue
        pairs = read_split(folder, name, prefix, directions.tested, cache, report)
        for ending, route in directions.routes.items():
            splits[name + ending], sections[name + ending] = pairs, [Section(route, len(pairs.src))]
    return splits, sections, report


def read_split(folder: Path, name: str, prefix: str, direction: Direction, cache: Path, report: list[str]) -> Pairs:
    """The pairs of one direction of a split; lines are added to the report."""
    src, tgt = (find_file(folder, prefix, language) for language in direction)
    stored = store_text((src, tgt), cache, drop_empty=name == TRAIN)
    read, empty = json.loads((stored / "counts.json").read_text())
    report.append(f"{name}: {read:,} pairs read from {src.name} and {tgt.name}")
    if empty:
        report.append(f"{name}: {empty:,} pairs with an empty line {'dropped' if name == TRAIN else 'kept'}")
    return Pairs(*(lines.Lines(stored / f"{side}.txt") for side in SIDES))


def store_text(files: tuple[Path, Path], cache: Path, *, drop_empty: bool) -> Path:
    """The folder that holds the checked lines of two files, which it makes unless they are as they were then."""
    stats = [(str(file.resolve()), file.stat()) for file in files]
    known = [[path, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns] for path, stat in stats]
    key = hashlib.sha256(json.dumps([_FORMAT, known, drop_empty]).encode()).hexdigest()[:16]
    folder = cache / "text" / key
    if not folder.exists():
        with replacing(folder) as beside:
            beside.mkdir()
            writers = [lines.Writer(beside / f"{side}.txt") for side in SIDES]
            counts = [0, 0]
            pairs = read_pairs(files)
            while block := list(islice(pairs, _BLOCK)):
                filled = [pair for pair in block if all(pair)]
                counts = [counts[0] + len(block), counts[1] + len(block) - len(filled)]
                for writer, side in zip(writers, zip(*(filled if drop_empty else block), strict=True), strict=False):
                    writer.add(side)
            for writer in writers:
                writer.close()
            (beside / "counts.json").write_text(json.dumps(counts))
    return folder


def read_pairs(files: tuple[Path, Path]) -> Iterator[tuple[str, str]]:
    """The lines of two files, side by side.

    Raises:
        UserError: as ``lines.read``, and where one file has more lines than the other.
    """
    sides = [lines.read(file) for file in files]
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


def find_file(folder: Path, prefix: str, language: str) -> Path:
    """``{folder}/{prefix}.{language}`` or the same with ``.gz``.

    Raises:
        UserError: where both are there, or neither, naming the languages that are.
    """
    plain = folder / f"{prefix}.{language}"
    there = [path for path in (plain, plain.with_name(f"{plain.name}.gz")) if path.is_file()]
    if len(there) > 1:
        raise UserError(f"data: both '{plain}' and '{there[1].name}' are there; keep one of them.")
    if there:
        return there[0]
    if not plain.parent.is_dir():
        raise UserError(f"data.dir: there is no folder '{plain.parent}'.")
    stem = f"{plain.name.removesuffix(language)}"
    others = {path.name.removeprefix(stem).removesuffix(".gz") for path in plain.parent.glob(f"{stem}*")}
    known = f"'{prefix}' is there in {', '.join(sorted(others))}" if others else f"nothing there is named '{stem}*'"
    raise UserError(f"data.dir={folder} has neither '{plain.name}' nor '{plain.name}.gz'; {known}.")
