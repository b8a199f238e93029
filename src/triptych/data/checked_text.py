"""Checked text in the cache: the pairs of a source, cleaned, as two files of lines.

Writing is resumed after an interruption. A journal beside the files records how many pairs have been read and how large
the files were then; a call that was interrupted reads the source again, and writes from there on.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypedDict

from triptych.contract.vocabulary import SIDES
from triptych.data.cleaning import NO_CLEANING, Cleaner, Cleaning, Pair
from triptych.data.directions import Direction
from triptych.data.held_out import HashRange
from triptych.data.pair_source import PairSource
from triptych.data.pairs import Pairs
from triptych.data.text_file import LineFile, LineWriter
from triptych.errors import UserError
from triptych.files import build_folder_once, replacing
from triptych.stored import checksums, read_json, require_checksums

logger = logging.getLogger(__name__)

_FORMAT = 3
"""Version of the checked text in the cache; a new version makes every source be read and checked again."""
FOLDER = "text"
"""Folder of the cache that holds checked text."""
_REMEDY = "delete the folder that it is in: it is made again"
_BLOCK_PAIRS = 10_000
"""Number of pairs that are checked and written at a time."""
_BLOCKS_PER_RECORD = 10
"""Number of blocks between two records in the journal."""
_PAIRS_PER_MESSAGE = 1_000_000
COUNTS = "counts.json"
"""Name of the file of counts."""


@dataclass(frozen=True)
class Selection:
    """Which pairs of a source are kept.

    Attributes:
        direction: languages of both sides.
        drop_empty: whether to drop pairs with an empty side.
        cleaning: what else to drop.
        part_of: range of hashes that pairs must be in; None for all pairs.
    """

    direction: Direction
    drop_empty: bool
    cleaning: Cleaning = NO_CLEANING
    part_of: HashRange | None = None

    def key_of(self, source: PairSource) -> str:
        """Return 16 hexadecimal digits that change when other pairs are kept."""
        part = [self.part_of.low, self.part_of.high] if self.part_of else []
        identity = [_FORMAT, source.identity, self.drop_empty, self.cleaning.identity(self.direction), part]
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]


class Counts(TypedDict):
    """What was read.

    Attributes:
        total: number of pairs read.
        empty: number of pairs with an empty side.
        dropped: number of pairs dropped by cleaning, by reason.
    """

    total: int
    empty: int
    dropped: dict[str, int]


class _Stored(Counts):
    files: dict[str, list[int]]


class _Progress(Counts):
    sizes: list[int]


def read_text(source: PairSource, cache: Path, selection: Selection) -> tuple[Pairs, Counts]:
    """Return the kept pairs of a source and what was read, from the cache if the source has not changed.

    Raises:
        UserError: as the source and the cleaning, the source changes meanwhile, or a file in the cache is damaged.
    """
    folder = cache / FOLDER / selection.key_of(source)
    with build_folder_once(folder) as unfinished:
        if unfinished:
            cleaner = selection.cleaning.start(selection.direction)
            try:
                _write(unfinished, source, selection, cleaner)
                if selection.key_of(source) != folder.name:
                    raise UserError(f"data: {source.name} changed while it was read; give the same command again.")
            except UserError:  # the source cannot be read to its end, or not as one
                shutil.rmtree(unfinished)
                raise
    counts: _Stored = read_json(folder / COUNTS, _Stored, _REMEDY)
    require_checksums(folder, counts["files"], _REMEDY)
    return Pairs(*(LineFile(folder / f"{side}.txt") for side in SIDES)), counts


def _write(folder: Path, source: PairSource, selection: Selection, cleaner: Cleaner) -> None:
    journal = folder / "text.journal"
    progress = _load_progress(folder, journal)
    if progress["total"]:
        logger.info("going on after %s pairs read from %s", f"{progress['total']:,}", source.name)
    cleaner.dropped |= progress["dropped"]
    writers = [LineWriter(folder / f"{side}.txt", size) for side, size in zip(SIDES, progress["sizes"], strict=True)]
    part_of, drop_empty = selection.part_of, selection.drop_empty
    pairs = (pair for pair in source if part_of is None or part_of.has(pair[0]))
    for block in _blocks(islice(pairs, progress["total"])):
        cleaner.skip(_filled(block) if drop_empty else block)
    for number, block in enumerate(_blocks(pairs), start=1):
        filled = _filled(block)
        progress["total"] += len(block)
        progress["empty"] += len(block) - len(filled)
        kept = cleaner.clean(filled if drop_empty else block)
        for writer, side in zip(writers, zip(*kept, strict=True), strict=False):
            writer.add(side)
        if number % _BLOCKS_PER_RECORD == 0:
            progress |= {"sizes": [writer.flush() for writer in writers], "dropped": cleaner.dropped}
            with replacing(journal) as temporary:
                temporary.write_text(json.dumps(progress))
            if progress["total"] % _PAIRS_PER_MESSAGE == 0:
                logger.info("%s pairs read from %s", f"{progress['total']:,}", source.name)
    for writer in writers:
        writer.close()
    counts = {"total": progress["total"], "empty": progress["empty"], "dropped": cleaner.dropped}
    for file in (journal, folder / COUNTS):  # no part of what the checksums are of
        file.unlink(missing_ok=True)
    (folder / COUNTS).write_text(json.dumps(counts | {"files": checksums(folder)}))


def _load_progress(folder: Path, journal: Path) -> _Progress:
    """Load the journal, or begin if there is none, if it is damaged, or if the files are shorter than it says."""
    with suppress(OSError, UserError):
        progress: _Progress = read_json(journal, _Progress, "delete it")
        sizes = [(folder / f"{side}.txt").stat().st_size for side in SIDES]
        counts = [progress["total"], progress["empty"], *progress["dropped"].values(), *progress["sizes"]]
        is_possible = len(progress["sizes"]) == len(sizes) and min(counts) >= 0
        if is_possible and all(size >= recorded for size, recorded in zip(sizes, progress["sizes"], strict=True)):
            return progress
    return {"total": 0, "empty": 0, "dropped": {}, "sizes": [0] * len(SIDES)}


def _filled(pairs: list[Pair]) -> list[Pair]:
    return [pair for pair in pairs if all(pair)]


def _blocks(pairs: Iterator[Pair]) -> Iterator[list[Pair]]:
    while block := list(islice(pairs, _BLOCK_PAIRS)):
        yield block
