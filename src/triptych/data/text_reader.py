"""From text files to checked splits: find the files, check every pair, and keep the checked text in the cache.

A training pair with an empty side is dropped. All other splits keep theirs: a test set without them would no longer be
the published test set, and its scores could not be compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import TypedDict

from triptych.contract.vocabulary import SIDES
from triptych.data.directions import Direction, Directions
from triptych.data.held_out import HashRange
from triptych.data.pairs import TRAIN, VALIDATION, Pairs, Section
from triptych.data.text_file import ConcatenatedLines, LineFile, LineWriter, read_lines
from triptych.errors import UserError
from triptych.files import made_once, replacing
from triptych.stored import checksums, read_json, require_checksums

_FORMAT = 2
"""Version of the checked text in the cache; a new version makes every file be read and checked again."""
REMEDY = "delete the folder that it is in: it is made again"
_BLOCK_PAIRS = 10_000
"""Number of pairs checked and written at a time."""


class _Counts(TypedDict):
    """counts.json: pairs that were read, pairs with an empty side, and the checksums of the files beside it."""

    counts: list[int]
    files: dict[str, list[int]]


Source = str | Sequence[str]
"""Where the text of a split is: the prefix that its files share, or the file of the source and that of the target."""


BESIDE = ("ref", "src", "nats")
"""Endings of the files that are kept of a test set beside its translations."""


def test_sets(sources: Sequence[Source]) -> dict[str, Source]:
    """Name each test set after the last part of its file prefix, and return where each is by name.

    A pair of files is named after the first, without the ending.

    Raises:
        UserError: ``data.test`` is not a list, or two sets have the same name or would be kept in the same file.
    """
    if isinstance(sources, str):
        raise UserError(f"data.test={sources} must be a list of test sets, such as data.test=[{sources}].")
    named: dict[str, Source] = {}
    for source in sources:
        name = Path(source).name if isinstance(source, str) else Path(source[0].removesuffix(".gz")).stem
        if name in (*named, TRAIN, VALIDATION):
            raise UserError(f"data.test: two splits have the name '{name}'; give the files of one another name.")
        named[name] = source
    for name in named:
        for other in (f"{name}.{ending}" for ending in BESIDE):
            if other in named:
                raise UserError(
                    f"data.test: '{other}' is the name of a file that is kept of '{name}'; rename its files."
                )
    return named


@dataclass(frozen=True)
class TextFormat:
    """How the files of a corpus are read.

    Attributes:
        name: part of the identity of the checked text in the cache; None for files of one sentence per line.
        sentences_of: yields the sentences of a file.
    """

    name: str | None
    sentences_of: Callable[[Path], Iterator[str]]


PLAIN = TextFormat(None, read_lines)
"""Files of one sentence per line."""


def read_splits(
    folder: Path,
    sources: Mapping[str, Source],
    directions: Directions,
    cache: Path,
    ranges: Mapping[str, HashRange] | None = None,
    text_format: TextFormat = PLAIN,
) -> tuple[dict[str, Pairs], dict[str, list[Section]], list[str]]:
    """Read and check the files of every split.

    Training and validation have the pairs of all trained directions, one direction after the other. The checked text
    is kept in the cache's folder ``text`` and opened from there until a source file changes.

    Args:
        folder: where the files are.
        sources: where each split is, by the split's name. Pairs of files are for one direction.
        directions: directions that are trained and tested.
        cache: root of the cache.
        ranges: which pairs of its files each split has, of ``held_out.ranges_of_splits``; all, if it is not among them.
        text_format: how the files are read.

    Returns:
        The pairs of each split, the sections of each split, and a report with one line per check.

    Raises:
        UserError: as ``triptych.data.corpus.TextCorpus``.
    """
    splits: dict[str, Pairs] = {}
    sections: dict[str, list[Section]] = {}
    report: list[str] = []
    for name, source in sources.items():
        part_of = (ranges or {}).get(name)
        if name in (TRAIN, VALIDATION):
            parts = [
                read_split(folder, name, source, direction, cache, report, text_format, part_of)
                for direction in directions.trained
            ]
            splits[name] = parts[0] if len(parts) == 1 else Pairs(*map(ConcatenatedLines, zip(*parts, strict=True)))
            sizes = zip(directions.trained, (len(part.src) for part in parts), strict=True)
            sections[name] = [Section(direction, size) for direction, size in sizes]
            continue
        pairs = read_split(folder, name, source, directions.tested, cache, report, text_format, part_of)
        for suffix, route in directions.routes.items():
            splits[name + suffix], sections[name + suffix] = pairs, [Section(route, len(pairs.src))]
    return splits, sections, report


def read_split(
    folder: Path,
    name: str,
    source: Source,
    direction: Direction,
    cache: Path,
    report: list[str],
    text_format: TextFormat,
    part_of: HashRange | None = None,
) -> Pairs:
    """Return the checked pairs of one direction of a split, and append what was found to the report."""
    src, tgt = files_of(folder, source, direction)
    drop_empty = name == TRAIN or part_of is not None
    stored = store_text((src, tgt), cache, text_format, drop_empty=drop_empty, part_of=part_of)
    counted = read_json(stored / "counts.json", _Counts, REMEDY)
    require_checksums(stored, counted["files"], REMEDY)
    total, empty = counted["counts"]
    said = " (held out of training)" if part_of is not None and name != TRAIN else ""
    report.append(f"{name}: {total:,} pairs read from {src.name} and {tgt.name}{said}")
    if empty:
        report.append(f"{name}: {empty:,} pairs with an empty line {'dropped' if drop_empty else 'kept'}")
    return Pairs(*(LineFile(stored / f"{side}.txt") for side in SIDES))


def store_text(
    files: tuple[Path, Path],
    cache: Path,
    text_format: TextFormat,
    *,
    drop_empty: bool,
    part_of: HashRange | None = None,
) -> Path:
    """Return the cache folder with the checked lines of two files, and create it if the files are new or have changed.

    Files count as changed when their path, size, modification time or change time differ.

    Args:
        text_format: how the files are read.
        drop_empty: whether to drop pairs with an empty side.
        part_of: which of the pairs to store; None for all.
    """
    stats = [(str(file.resolve()), file.stat()) for file in files]
    identity = [[path, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns] for path, stat in stats]
    stored = [_FORMAT, identity, drop_empty, *([part_of.low, part_of.high] if part_of else [])]
    stored += [text_format.name] if text_format.name else []
    key = hashlib.sha256(json.dumps(stored).encode()).hexdigest()[:16]
    folder = cache / "text" / key
    with made_once(folder) as is_missing:
        if is_missing:
            _write_text(folder, files, text_format, drop_empty, part_of)
    return folder


def _write_text(
    folder: Path, files: tuple[Path, Path], text_format: TextFormat, drop_empty: bool, part_of: HashRange | None
) -> None:
    with replacing(folder) as temporary:
        temporary.mkdir()
        writers = [LineWriter(temporary / f"{side}.txt") for side in SIDES]
        counts = [0, 0]
        pairs = (
            pair for pair in read_pairs(files, text_format.sentences_of) if part_of is None or part_of.has(pair[0])
        )
        while block := list(islice(pairs, _BLOCK_PAIRS)):
            filled = [pair for pair in block if all(pair)]
            counts = [counts[0] + len(block), counts[1] + len(block) - len(filled)]
            for writer, side in zip(writers, zip(*(filled if drop_empty else block), strict=True), strict=False):
                writer.add(side)
        for writer in writers:
            writer.close()
        (temporary / "counts.json").write_text(json.dumps({"counts": counts, "files": checksums(temporary)}))


def read_pairs(
    files: tuple[Path, Path], sentences_of: Callable[[Path], Iterator[str]] = read_lines
) -> Iterator[tuple[str, str]]:
    """Yield the sentences of two files in pairs.

    Raises:
        UserError: as ``sentences_of``, or one file has more lines than the other.
    """
    sides = [sentences_of(file) for file in files]
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


def files_of(folder: Path, source: Source, direction: Direction) -> tuple[Path, Path]:
    """Return the files of a split's source and target side in one direction.

    Raises:
        UserError: a file is missing, or as ``find_file``.
    """
    if isinstance(source, str):
        src, tgt = (find_file(folder, source, language) for language in direction)
        return src, tgt
    src, tgt = (folder / Path(file).expanduser() for file in source)
    for file in (src, tgt):
        if not file.is_file():
            raise UserError(f"data: there is no file '{file}'; give paths below data.dir={folder}.")
    return src, tgt


def find_file(folder: Path, prefix: str, language: str) -> Path:
    """Return ``{folder}/{prefix}.{language}`` or the same with ``.gz``, whichever exists.

    Raises:
        UserError: both exist, or neither; then the message lists the languages that exist, or says how a file itself is
            given.
    """
    plain = folder / f"{prefix}.{language}"
    existing = [path for path in (plain, plain.with_name(f"{plain.name}.gz")) if path.is_file()]
    if len(existing) > 1:
        raise UserError(f"data: both '{plain}' and '{existing[1].name}' exist; keep one of them.")
    if existing:
        return existing[0]
    if (folder / prefix).is_file():
        raise UserError(
            f"data: '{prefix}' is a file, and here stands the prefix of two; to name both files, give a pair, "
            "such as data.train=[FILE,FILE] or data.test=[[FILE,FILE]]."
        )
    if not plain.parent.is_dir():
        raise UserError(f"data.dir: the folder '{plain.parent}' does not exist.")
    stem = f"{plain.name.removesuffix(language)}"
    others = {path.name.removeprefix(stem).removesuffix(".gz") for path in plain.parent.glob(f"{stem}*")}
    known = f"'{prefix}' exists in {', '.join(sorted(others))}" if others else f"no file is named '{stem}*'"
    raise UserError(f"data.dir={folder} has neither '{plain.name}' nor '{plain.name}.gz'; {known}.")
