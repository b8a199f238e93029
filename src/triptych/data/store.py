"""Encoded corpora on disk: encoded once, then opened by memory map, so that a large corpus takes no memory."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from triptych.contract.vocabulary import SIDES, LanguageTags
from triptych.data.corpus import Corpus
from triptych.data.pairs import TRAIN, Section
from triptych.data.ragged_array import RaggedArray, take_slices
from triptych.data.split_writer import encode_split
from triptych.data.tokenizer import ANNOUNCED, Tokenizer
from triptych.files import build_folder_once
from triptych.stored import checksums, read_json, require_checksums

logger = logging.getLogger(__name__)

_FORMAT = 3
"""Version of the stored ids; a new version makes every corpus be encoded again."""

REMEDY = "delete the folder that it is in: it is made again"
META = "meta.json"
"""Name of the file that describes the others."""


class _Meta(TypedDict):
    """meta.json: the limits that training pairs had, what they dropped, how ids are stored, and all checksums."""

    max_length: int | None
    max_length_ratio: float | None
    dropped: dict[str, dict[str, int]]
    dtypes: dict[str, str]
    files: dict[str, list[int]]


SPECIAL_TOKENS = np.array([1, 2], np.int32)
"""(2,) number of special tokens that ``Batch`` adds to a source (its end) and to a target (its beginning and end)."""


class Store:
    """Encoded pairs of one split.

    Ids are bare: without ``<s>``, ``</s>`` or language tags.

    Args:
        folder: where ``prepare`` has stored the split.
        name: name of the split.
        tags: language tags of the corpus' pairs. A key is the position in the corpus' split from which on its tags
            hold, until the next key; keys ascend.

    Attributes:
        name: name of the split.
        ids: for each side, (pieces,) ids of all sentences, one after the other.
        offsets: for each side, (n + 1,) int64; sentence i is ``ids[offsets[i] : offsets[i + 1]]``.
        index: (n,) int64, position of each pair in the corpus' split.
        max_length: maximum number of pieces on either side that training pairs were limited to, or None.
        max_length_ratio: maximum ratio of the sides' pieces that training pairs were limited to, or None.
        dropped: number of dropped pairs by reason, ``length`` or ``ratio``.
    """

    def __init__(self, folder: Path, name: str, tags: Mapping[int, LanguageTags]) -> None:
        meta = read_json(folder / META, _Meta, REMEDY)
        self.name = name
        self.max_length: int | None = meta["max_length"]
        self.max_length_ratio: float | None = meta["max_length_ratio"]
        self.dropped: dict[str, int] = meta["dropped"][name]
        self.ids = {side: _map_array(folder / f"{name}.{side}.ids", np.dtype(meta["dtypes"][side])) for side in SIDES}
        self.offsets = {side: _map_array(folder / f"{name}.{side}.offsets", np.dtype(np.int64)) for side in SIDES}
        self.index = _map_array(folder / f"{name}.index", np.dtype(np.int64))
        self._folder = folder
        self._tags = tags

    def __reduce__(self) -> tuple[type[Store], tuple[Path, str, Mapping[int, LanguageTags]]]:
        # A worker process opens its own memory map instead of receiving a copy of the ids.
        return Store, (self._folder, self.name, self._tags)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def lengths(self) -> NDArray[np.int32]:
        """(n, 2) number of source and target tokens of each pair, special tokens counted as in ``Batch``."""
        lengths = np.empty((len(self), 2), np.int32)
        for i, side in enumerate(SIDES):
            lengths[:, i] = np.diff(self.offsets[side])
        return lengths + SPECIAL_TOKENS

    def pair(self, i: int) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Return the source and target ids of pair ``i`` of this store."""
        src, tgt = (self.rows([i], side).flat for side in SIDES)
        return src, tgt

    def rows(self, rows: Iterable[int] | NDArray[np.integer], side: str) -> RaggedArray:
        """Return the ids of one side of the given pairs of this store."""
        rows, offsets = np.asarray(rows), self.offsets[side]
        starts = offsets[rows]
        return take_slices(self.ids[side], starts, offsets[rows + 1] - starts)

    def tags(self, rows: Iterable[int] | NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the language tags of the given pairs of this store: (B, 2) last source id and first target id."""
        starts, tags = np.array([*self._tags]), np.array([*self._tags.values()])
        return tags[np.searchsorted(starts, self.index[np.asarray(rows)], side="right") - 1]

    @property
    def report(self) -> list[str]:
        """One line for each reason that pairs were dropped for, with their number."""
        reasons = {
            "length": f"with more than {self.max_length} pieces on a side",
            "ratio": f"with one side more than {self.max_length_ratio} times as long as the other",
        }
        return [f"{self.name}: {n:,} pairs {reasons[reason]} dropped" for reason, n in self.dropped.items() if n]


def _map_array(path: Path, dtype: np.dtype) -> NDArray:
    """Open a file as a memory-mapped array, in the form of a plain ndarray, which is faster to index than a memmap."""
    if not path.stat().st_size:  # an empty file cannot be mapped
        return np.empty(0, dtype)
    return np.memmap(path, dtype, mode="r").view(np.ndarray)


def prepare(
    corpus: Corpus, tokenizer: Tokenizer, cache: Path, max_length: int | None, max_length_ratio: float | None
) -> dict[str, Store]:
    """Encode every split of a corpus on the first call, and open the stored ids from the cache on later calls.

    Training pairs over a limit are dropped and counted in ``Store.report``; the other splits keep all pairs. An
    interrupted call is resumed by the next one. If two processes call at the same time, one encodes and the other
    waits.

    Args:
        cache: root of the cache; ids are kept in its folder ``stores``.
        max_length: maximum number of pieces on either side of a training pair, special tokens not counted; None for no
            limit.
        max_length_ratio: maximum number of pieces of a training pair's longer side per piece of its shorter side; None
            for no limit.

    Raises:
        UserError: the limits leave no training pair.
    """
    settings = [_FORMAT, corpus.fingerprint, tokenizer.fingerprint, max_length, max_length_ratio]
    key = hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:16]
    folder = Path(cache).expanduser() / "stores" / f"{corpus.name}-{key}"
    with build_folder_once(folder) as unfinished:
        if unfinished is not None:
            if (total := sum(len(pairs.src) for pairs in corpus.splits.values())) >= ANNOUNCED:
                logger.info("encoding %s pairs", f"{total:,}")
            sizes = zip(SIDES, (tokenizer.vocabulary.src_size, tokenizer.vocabulary.tgt_size), strict=True)
            dtypes = {side: "<u2" if size <= 2**16 else "<i4" for side, size in sizes}
            dropped = {}
            for name, pairs in corpus.splits.items():
                limits = (max_length, max_length_ratio) if name == TRAIN else (None, None)
                dropped[name] = encode_split(unfinished, name, pairs, tokenizer, dtypes, *limits)
            for journal in unfinished.glob("*.journal"):
                journal.unlink()
            (unfinished / META).unlink(missing_ok=True)  # of an earlier, interrupted call
            files = checksums(unfinished)
            meta = {"max_length": max_length, "max_length_ratio": max_length_ratio, "dropped": dropped, "files": files}
            (unfinished / META).write_text(json.dumps({**meta, "dtypes": dtypes}))
    require_checksums(folder, read_json(folder / META, _Meta, REMEDY)["files"], REMEDY)
    return {name: Store(folder, name, _tags_by_start(corpus, tokenizer, name)) for name in corpus.splits}


def _tags_by_start(corpus: Corpus, tokenizer: Tokenizer, split: str) -> dict[int, LanguageTags]:
    """Return the language tags of each section of a split, by the position of the section's first pair."""
    starts = accumulate((section.size for section in corpus.sections[split]), initial=0)

    def section_tags(section: Section) -> LanguageTags:
        return tokenizer.tags(section.route[0], section.route[-1]) if corpus.mixed else LanguageTags()

    return {start: section_tags(section) for start, section in zip(starts, corpus.sections[split], strict=False)}
