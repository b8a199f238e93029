"""Corpora as ids on disk: encoded once, then opened by memory map, so that a large corpus costs no memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from triptych.contract.vocabulary import SIDES, LanguageTags
from triptych.data.corpus import TRAIN, Corpus, Section
from triptych.data.encoding import encode_split, growing
from triptych.data.ragged_array import Ragged, take
from triptych.data.tokenizer import Tokenizer

_FORMAT = 2
"""Of the stored ids; another one encodes every corpus anew."""

SPECIAL_TOKENS = np.array([1, 2], np.int32)
"""Tokens that a ``Batch`` adds to the pieces of a source, its end, and to those of a target, its beginning and end."""


class Store:
    """One split: bare pieces (no special ids) of both sides, flat, with the place where each sentence begins.

    Args:
        folder: where ``prepare`` has stored it.
        name: of the split.
        tags: of the corpus' pairs, by the place in the split from which on they hold, in order.

    Attributes:
        name: of the split.
        ids: per side, (pieces,) ids of all sentences, one after the other.
        offsets: per side, (n + 1,) int64; sentence i is ``ids[offsets[i] : offsets[i + 1]]``.
        index: (n,) int64, each pair's place in the corpus' split.
        max_length: the limit in pieces that the training pairs were held to, or ``None``.
        dropped: counts of the pairs left out, by reason: ``length`` and ``ratio``.
    """

    def __init__(self, folder: Path, name: str, tags: Mapping[int, LanguageTags]) -> None:
        meta = json.loads((folder / "meta.json").read_text())
        self.name = name
        self.max_length: int | None = meta["max_length"]
        self.max_length_ratio: float | None = meta["max_length_ratio"]
        self.dropped: dict[str, int] = meta["dropped"][name]
        self.ids = {side: _map(folder / f"{name}.{side}.ids", np.dtype(meta["dtypes"][side])) for side in SIDES}
        self.offsets = {side: _map(folder / f"{name}.{side}.offsets", np.dtype(np.int64)) for side in SIDES}
        self.index = _map(folder / f"{name}.index", np.dtype(np.int64))
        self._folder = folder
        self._tags = tags

    def __reduce__(self) -> tuple[type[Store], tuple[Path, str, Mapping[int, LanguageTags]]]:
        # A worker process opens the map anew instead of being sent a copy of the ids.
        return Store, (self._folder, self.name, self._tags)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def lengths(self) -> NDArray[np.int32]:
        """(n, 2) tokens of source and target as ``Batch`` counts them, with ``</s>``, the target with ``<s>`` too."""
        lengths = np.empty((len(self), 2), np.int32)
        for i, side in enumerate(SIDES):
            lengths[:, i] = np.diff(self.offsets[side])
        return lengths + SPECIAL_TOKENS

    def pair(self, i: int) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Bare source and target ids of pair ``i`` of this store."""
        src, tgt = (self.rows([i], side).flat for side in SIDES)
        return src, tgt

    def rows(self, rows: Iterable[int] | NDArray[np.integer], side: str) -> Ragged:
        """Bare ids of one side of the given pairs."""
        rows, offsets = np.asarray(rows), self.offsets[side]
        starts = offsets[rows]
        return take(self.ids[side], starts, offsets[rows + 1] - starts)

    def tags(self, rows: Iterable[int] | NDArray[np.integer]) -> NDArray[np.int64]:
        """(B, 2) what the sources of the given pairs end in and what their targets begin with."""
        starts, tags = np.array([*self._tags]), np.array([*self._tags.values()])
        return tags[np.searchsorted(starts, self.index[np.asarray(rows)], side="right") - 1]

    @property
    def report(self) -> list[str]:
        """One line a reason for which pairs were left out, with the count."""
        reasons = {
            "length": f"with more than {self.max_length} pieces on a side",
            "ratio": f"with one side more than {self.max_length_ratio} times as long as the other",
        }
        return [f"{self.name}: {n:,} pairs {reasons[reason]} dropped" for reason, n in self.dropped.items() if n]


def _map(path: Path, dtype: np.dtype) -> NDArray:
    """As a plain array over the map: subclasses of arrays are slow to index."""
    if not path.stat().st_size:  # which cannot be mapped
        return np.empty(0, dtype)
    return np.memmap(path, dtype, mode="r").view(np.ndarray)


def prepare(
    corpus: Corpus, tokenizer: Tokenizer, cache: Path, max_length: int | None, max_length_ratio: float | None
) -> dict[str, Store]:
    """Every split of the corpus as a ``Store``, built on the first call and opened from ``cache`` ever after.

    Training pairs over a limit are dropped, and counted in ``Store.report``; no other split loses a pair. A call that
    is cut off is gone on with by the next; of two at a time, one builds and the other waits.

    Args:
        max_length: most pieces on either side of a training pair, special tokens not counted.
        max_length_ratio: most that the longer side may have of the shorter side's pieces.

    Raises:
        UserError: where the limits leave no training pair.
    """
    settings = [_FORMAT, corpus.fingerprint, tokenizer.fingerprint, max_length, max_length_ratio]
    key = hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:16]
    folder = Path(cache).expanduser() / "stores" / f"{corpus.name}-{key}"
    with growing(folder) as unfinished:
        if unfinished is not None:
            sizes = zip(SIDES, (tokenizer.vocabulary.src_size, tokenizer.vocabulary.tgt_size), strict=True)
            dtypes = {side: "<u2" if size <= 2**16 else "<i4" for side, size in sizes}
            dropped = {}
            for name, pairs in corpus.splits.items():
                limits = (max_length, max_length_ratio) if name == TRAIN else (None, None)
                dropped[name] = encode_split(unfinished, name, pairs, tokenizer, dtypes, *limits)
            meta = {"max_length": max_length, "max_length_ratio": max_length_ratio, "dropped": dropped}
            (unfinished / "meta.json").write_text(json.dumps({**meta, "dtypes": dtypes}))
    return {name: Store(folder, name, _tags(corpus, tokenizer, name)) for name in corpus.splits}


def _tags(corpus: Corpus, tokenizer: Tokenizer, split: str) -> dict[int, LanguageTags]:
    """The tags of a split's pairs, by the place from which on they hold."""
    starts = accumulate((section.size for section in corpus.sections[split]), initial=0)

    def of(section: Section) -> LanguageTags:
        return tokenizer.tags(section.route[0], section.route[-1]) if corpus.mixed else LanguageTags()

    return {start: of(section) for start, section in zip(starts, corpus.sections[split], strict=False)}
