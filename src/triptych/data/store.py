"""Corpora as ids on disk: encoded once, then opened by memory map, so that a large corpus costs no memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from triptych.data.corpus import TRAIN, Corpus, Pairs
from triptych.errors import UserError
from triptych.files import replacing
from triptych.tokenizer import SIDES, Tokenizer

_FORMAT = 1
_CHUNK = 10_000
"""Lines encoded at a time: Python's lists of ids are some twenty times as large as the arrays made of them."""


class Store:
    """One split: bare pieces (no special ids) of both sides, flat, with the place where each sentence begins.

    Attributes:
        name: of the split.
        ids: per side, (pieces,) ids of all sentences, one after the other.
        offsets: per side, (n + 1,) int64; sentence i is ``ids[offsets[i] : offsets[i + 1]]``.
        index: (n,) int64, each pair's place in the corpus' split.
        max_length: the limit in pieces that the training pairs were held to, or ``None``.
        dropped: counts of the pairs left out, by reason: ``length`` and ``ratio``.
    """

    def __init__(self, folder: Path, name: str) -> None:
        meta = json.loads((folder / "meta.json").read_text())
        self.name = name
        self.max_length: int | None = meta["max_length"]
        self.max_length_ratio: float | None = meta["max_length_ratio"]
        self.dropped: dict[str, int] = meta["dropped"].get(name, {})
        self.ids = {side: np.load(folder / f"{name}.{side}.ids.npy", mmap_mode="r") for side in SIDES}
        self.offsets = {side: np.load(folder / f"{name}.{side}.offsets.npy", mmap_mode="r") for side in SIDES}
        self.index: NDArray[np.int64] = np.load(folder / f"{name}.index.npy", mmap_mode="r")
        self._folder = folder

    def __reduce__(self) -> tuple[type[Store], tuple[Path, str]]:
        # A worker process opens the map anew instead of being sent a copy of the ids.
        return Store, (self._folder, self.name)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n, 2) tokens of source and target as ``Batch`` counts them, with ``</s>``, the target with ``<s>`` too."""
        return np.stack([np.diff(self.offsets["src"]) + 1, np.diff(self.offsets["tgt"]) + 2], axis=1)

    def pair(self, i: int) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Bare source and target ids of pair ``i`` of this store."""
        src, tgt = (self.rows([i], side)[0] for side in SIDES)
        return src, tgt

    def rows(self, rows: Iterable[int], side: str) -> list[NDArray[np.integer]]:
        """Bare ids of one side of the given pairs."""
        ids, offsets = self.ids[side], self.offsets[side]
        return [ids[offsets[i] : offsets[i + 1]] for i in rows]

    @property
    def report(self) -> list[str]:
        """One line a reason for which pairs were left out, with the count."""
        reasons = {
            "length": f"with more than {self.max_length} pieces on a side",
            "ratio": f"with one side more than {self.max_length_ratio} times as long as the other",
        }
        return [f"{self.name}: {n:,} pairs {reasons[reason]} dropped" for reason, n in self.dropped.items() if n]


def prepare(
    corpus: Corpus, tokenizer: Tokenizer, cache: Path, max_length: int | None, max_length_ratio: float | None
) -> dict[str, Store]:
    """Every split of the corpus as a ``Store``, built on the first call and opened from ``cache`` ever after.

    Training pairs over a limit are dropped, and counted in ``Store.report``; no other split loses a pair.

    Args:
        max_length: most pieces on either side of a training pair, special tokens not counted.
        max_length_ratio: most that the longer side may have of the shorter side's pieces.

    Raises:
        UserError: where the limits leave no training pair.
    """
    settings = [_FORMAT, corpus.fingerprint, tokenizer.fingerprint, max_length, max_length_ratio]
    key = hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:16]
    folder = Path(cache).expanduser() / "stores" / f"{corpus.name}-{key}"
    if not folder.exists():
        with replacing(folder) as beside:
            beside.mkdir()
            dropped = {}
            for name, pairs in corpus.splits.items():
                limits = (max_length, max_length_ratio) if name == TRAIN else (None, None)
                dropped[name] = _build(beside, name, pairs, tokenizer, *limits)
            meta = {"max_length": max_length, "max_length_ratio": max_length_ratio, "dropped": dropped}
            (beside / "meta.json").write_text(json.dumps(meta))
    return {name: Store(folder, name) for name in corpus.splits}


def _build(
    folder: Path, name: str, pairs: Pairs, tokenizer: Tokenizer, max_length: int | None, max_length_ratio: float | None
) -> dict[str, int]:
    """Writes the arrays of one split and returns the counts of dropped pairs."""
    sizes = (tokenizer.vocabulary.src_size, tokenizer.vocabulary.tgt_size)
    sides = [_encode(tokenizer, lines, side, size) for lines, side, size in zip(pairs, SIDES, sizes, strict=True)]
    lengths = np.stack([lengths for _, lengths in sides], axis=1)
    too_long = lengths.max(1) > (np.inf if max_length is None else max_length)
    uneven = lengths.max(1) > (np.inf if max_length_ratio is None else max_length_ratio * lengths.min(1))
    keep = ~(too_long | uneven)
    if not keep.any():
        raise UserError(
            f"data.max_length={max_length} and data.max_length_ratio={max_length_ratio} leave no training pair;"
            " raise them."
        )
    for side, (ids, counts) in zip(SIDES, sides, strict=True):
        np.save(folder / f"{name}.{side}.ids.npy", ids[np.repeat(keep, counts)])
        np.save(folder / f"{name}.{side}.offsets.npy", np.concatenate([[0], np.cumsum(counts[keep])]))
    np.save(folder / f"{name}.index.npy", np.flatnonzero(keep))
    return {"length": int(too_long.sum()), "ratio": int((uneven & ~too_long).sum())}


def _encode(
    tokenizer: Tokenizer, lines: list[str], side: str, vocab_size: int
) -> tuple[NDArray[np.integer], NDArray[np.int64]]:
    """(pieces,) ids of all lines, in the smallest type that holds them, and (n,) pieces of each line."""
    dtype = np.uint16 if vocab_size <= 2**16 else np.int32
    ids, lengths = [np.empty(0, dtype)], []
    for start in range(0, len(lines), _CHUNK):
        rows = tokenizer.encode(lines[start : start + _CHUNK], side)
        ids.append(np.fromiter((i for row in rows for i in row), dtype))
        lengths += [len(row) for row in rows]
    return np.concatenate(ids), np.array(lengths, np.int64)
