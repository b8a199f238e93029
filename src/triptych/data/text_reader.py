"""From sources of text to checked splits: find the files, check every pair, and keep the checked text in the cache.

A training pair with an empty side is dropped. All other splits keep theirs: a test set without them would no longer be
the published test set, and its scores could not be compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from triptych.data.checked_text import Counts, Selection, read_text
from triptych.data.cleaning import NO_CLEANING, Cleaning
from triptych.data.directions import Direction, Directions
from triptych.data.held_out import HashRange
from triptych.data.pair_source import PLAIN, FilePair, PairSource, TextFormat
from triptych.data.pairs import TEST, TRAIN, VALIDATION, Pairs, Section
from triptych.data.published_sets import find_published, is_published
from triptych.data.tables import ENDINGS, Columns, find_table, is_table
from triptych.data.text_file import ConcatenatedLines
from triptych.errors import UserError

Source = str | Sequence[str]
"""Where the text of a split is: the prefix that its files share, or the file of the source and that of the target; or a
table, or a test set that sacreBLEU knows."""

Find = Callable[[Direction], PairSource]
"""Finds the source of a split's pairs in a direction."""


LISTED = 5
"""Most files of a folder that a message names."""
BESIDE = ("ref", "src", "nats")
"""Endings of the files that are kept of a test set beside its translations."""


def test_sets(sources: Sequence[Source]) -> dict[str, Source]:
    """Name each test set after the last part of its file prefix, and return where each is by name.

    A pair of files is named after the first, without the ending, as is a table; ``sacrebleu:wmt14/full`` is named
    ``wmt14_full``.

    Raises:
        UserError: ``data.test`` is not a list, or two sets have the same name or would be kept in the same file.
    """
    if isinstance(sources, str):
        raise UserError(f"data.test={sources} must be a list of test sets, such as data.test=[{sources}].")
    named: dict[str, Source] = {}
    for source in sources:
        name = _name_of(source)
        if name in (*named, TRAIN, VALIDATION):
            raise UserError(f"data.test: two splits have the name '{name}'; rename the files of one, or leave it out.")
        named[name] = source
    for name in named:
        for other in (f"{name}.{ending}" for ending in BESIDE):
            if other in named:
                raise UserError(
                    f"data.test: '{other}' is the name of a file that is kept of '{name}'; rename its files."
                )
    return named


def _name_of(source: Source) -> str:
    """Return the name of a test set, without the characters that a command line or a file's name should not have."""
    first = source if isinstance(source, str) else source[0]
    if is_published(first):
        name = first.partition(":")[2].replace("/", "_")
    elif isinstance(source, str) and not is_table(source):
        name = Path(first).name
    else:
        name = Path(first.removesuffix(".gz")).stem
    name = re.sub(r"\[:(\w+)", r"_to_\1", re.sub(r"(\w+)%?:\]", r"from_\1", name))
    plain = re.sub(r"[\[\]:%*?]+", "_", name)
    return re.sub(r"^\W+", "", name if plain == name else plain.strip("_-")) or TEST


def read_splits(
    sources: Mapping[str, Find],
    directions: Directions,
    cache: Path,
    ranges: Mapping[str, HashRange] | None = None,
    cleaning: Cleaning = NO_CLEANING,
) -> tuple[dict[str, Pairs], dict[str, list[Section]], list[str]]:
    """Read and check the text of every split.

    Training and validation have the pairs of all trained directions, one direction after the other. The checked text
    is kept in the cache's folder ``text`` and opened from there until its source changes.

    Args:
        sources: finds each split's source, by the split's name.
        directions: directions that are trained and tested.
        cache: root of the cache.
        ranges: which pairs of its source each split has, of ``held_out.ranges_of_splits``; all, if it is not among
            them.
        cleaning: what is dropped of training, and of what is held out of it.

    Returns:
        The pairs of each split, the sections of each split, and a report with one line per check.

    Raises:
        UserError: as ``triptych.data.corpus.TextCorpus``.
    """
    splits: dict[str, Pairs] = {}
    sections: dict[str, list[Section]] = {}
    report: list[str] = []
    for name, find in sources.items():
        part_of = (ranges or {}).get(name)
        read_pairs = partial(_read_split, name, find, cache=cache, cleaning=cleaning, part_of=part_of, report=report)
        if name in (TRAIN, VALIDATION):
            parts = [read_pairs(direction) for direction in directions.trained]
            splits[name] = parts[0] if len(parts) == 1 else Pairs(*map(ConcatenatedLines, zip(*parts, strict=True)))
            sizes = zip(directions.trained, (len(part.src) for part in parts), strict=True)
            sections[name] = [Section(direction, size) for direction, size in sizes]
            continue
        pairs = read_pairs(directions.tested)
        for suffix, route in directions.routes.items():
            splits[name + suffix], sections[name + suffix] = pairs, [Section(route, len(pairs.src))]
    return splits, sections, report


def _read_split(
    name: str,
    find: Find,
    direction: Direction,
    *,
    cache: Path,
    cleaning: Cleaning,
    part_of: HashRange | None,
    report: list[str],
) -> Pairs:
    """Return the checked pairs of one direction of a split, and append what was found to the report."""
    source = find(direction)
    of_training = name == TRAIN or part_of is not None
    selection = Selection(direction, of_training, cleaning if of_training else NO_CLEANING, part_of)
    pairs, counts = read_text(source, cache, selection)
    report += _describe(name, source, counts, of_training=of_training, held_out=of_training and name != TRAIN)
    return pairs


def _describe(name: str, source: PairSource, counts: Counts, *, of_training: bool, held_out: bool) -> list[str]:
    lines = [f"{counts['total']:,} pairs read from {source.name}{' (held out of training)' if held_out else ''}"]
    if empty := counts["empty"]:
        lines.append(f"{empty:,} pairs with an empty line {'dropped' if of_training else 'kept'}")
    lines += [f"{count:,} {reason} dropped" for reason, count in counts["dropped"].items()]
    return [f"{name}: {line}" for line in lines]


def find_source(
    folder: Path,
    source: Source,
    direction: Direction,
    *,
    cache: Path | None = None,
    columns: Columns | None = None,
    text_format: TextFormat = PLAIN,
) -> PairSource:
    """Return where the pairs of a split are in one direction.

    Args:
        folder: where the files are.
        source: the split's.
        cache: root of the cache, for a published test set; None where there can be none.
        columns: of both sides, if the split is a table (``tables.find_table``).
        text_format: how files of sentences are read.

    Raises:
        UserError: a file is missing, or as ``find_file``, ``tables.find_table`` and ``published_sets.find_published``.
    """
    if isinstance(source, str):
        if cache is not None and is_published(source):
            return find_published(source, direction, cache)
        if is_table(source):
            return find_table(folder, source, columns, direction)
        src, tgt = (find_file(folder, source, language) for language in direction)
    else:
        src, tgt = (folder / Path(file).expanduser() for file in source)
        for file in (src, tgt):
            if not file.is_file():
                raise UserError(f"data: there is no file '{file}'; give paths below data.dir={folder}.")
        if src.samefile(tgt):
            raise UserError(f"data: '{src}' is named for both sides; give a file of each.")
    return FilePair(src, tgt, text_format)


def find_file(folder: Path, prefix: str, language: str) -> Path:
    """Return ``{folder}/{prefix}.{language}`` or the same with ``.gz``, whichever exists.

    Raises:
        UserError: both exist, or neither; then the message lists the languages that exist, or the folder's files of
            this language, or says how a file itself is given.
    """
    if prefix.startswith("~"):
        prefix = str(Path(prefix).expanduser())
    plain = folder / f"{prefix}.{language}"
    existing = [path for path in (plain, plain.with_name(f"{plain.name}.gz")) if path.is_file()]
    if len(existing) > 1:
        raise UserError(f"data: both '{plain}' and '{existing[1].name}' exist; keep one of them.")
    if existing:
        return existing[0]
    if (folder / prefix).is_file():
        raise UserError(
            f"data: '{prefix}' is a file, and here stands the prefix of two; to name both files, give a pair, "
            f"such as data.train=[FILE,FILE] or data.test=[[FILE,FILE]]. Names of tables end in {', '.join(ENDINGS)}."
        )
    if "*" in prefix:
        raise UserError(f"data: '{prefix}' is no pattern of tables, whose names end in {', '.join(ENDINGS)}.")
    if not plain.parent.is_dir():
        raise UserError(f"data.dir: the folder '{plain.parent}' does not exist.")
    stem = f"{plain.name.removesuffix(language)}"
    others = {path.name.removeprefix(stem).removesuffix(".gz") for path in plain.parent.glob(f"{stem}*")}
    known = f"'{prefix}' exists in {', '.join(sorted(others))}" if others else _other_texts(plain.parent, language)
    raise UserError(f"data: the folder '{plain.parent}' has neither '{plain.name}' nor '{plain.name}.gz'; {known}.")


def _other_texts(folder: Path, language: str) -> str:
    """Return which files of a language a folder has, and how one is named or a set made of another."""
    files = sorted([*folder.glob(f"*.{language}"), *folder.glob(f"*.{language}.gz")])
    if not files:
        return f"no file there ends in '.{language}'"
    named = ", ".join(path.name for path in files[:LISTED]) + (", …" if len(files) > LISTED else "")
    return (
        f"it has {named}. Give data.train, data.validation or data.test the name without the ending .{language}. A "
        "validation or test set that has no files can be taken out of the training text: data.validation=0.05 "
        "data.test=0.05"
    )
