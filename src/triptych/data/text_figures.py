"""Figures of the text that a reader of the scores should know: what of it repeats, is unknown, or is never used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from triptych.contract.vocabulary import SIDES, UNK
from triptych.data.corpus import TRAIN, Corpus
from triptych.data.piece_counts import count_pieces
from triptych.data.store import Store
from triptych.data.tokenizer import Tokenizer

NOT_TEXT = re.compile(r"<[^<>]+>")
"""Pieces that stand for no text of their own: special ids, language tags, and bytes."""


class TextFigures(TypedDict):
    """What ``result.json`` has as ``text``.

    ``repeated`` is the number of source sentences of each split, without the training text, that are a source of
    training too, and ``sentences`` the number of all. ``unknown`` is the share of the tokens of each split, both sides
    together, that are ``<unk>``. ``unused`` is the share of the vocabulary that no training pair has, without special
    ids, language tags and bytes.
    """

    sentences: dict[str, int]
    repeated: dict[str, int]
    unknown: dict[str, float]
    unused: float


def text_figures(corpus: Corpus, tokenizer: Tokenizer, stores: Mapping[str, Store]) -> TextFigures:
    """Return the figures of a corpus that a tokenizer has encoded.

    Args:
        corpus: the text.
        tokenizer: that encoded it.
        stores: of ``data.store.prepare``.
    """
    counts = {split: _count(store, tokenizer) for split, store in stores.items()}
    return {
        "sentences": {split: len(corpus.splits[split].src) for split in corpus.splits if split != TRAIN},
        "repeated": _repeated(corpus),
        "unknown": {split: _share(of[:, UNK].sum(), of.sum()) for split, of in counts.items()},
        "unused": _unused(counts[TRAIN], tokenizer),
    }


def _repeated(corpus: Corpus) -> dict[str, int]:
    """Return how many source sentences of each split are a source of training."""
    others = {split: list(pairs.src) for split, pairs in corpus.splits.items() if split != TRAIN}
    wanted = {line for lines in others.values() for line in lines}
    found = {line for line in corpus.splits[TRAIN].src if line in wanted}
    return {split: sum(line in found for line in lines) for split, lines in others.items()}


def _count(store: Store, tokenizer: Tokenizer) -> NDArray[np.int64]:
    """Return how often each piece occurs on each side, (2, V); of a shorter vocabulary, the last ones never do."""
    sizes = tokenizer.vocabulary.src_size, tokenizer.vocabulary.tgt_size
    return np.stack([count_pieces(store, side, max(sizes)) for side in SIDES])


def _unused(counts: NDArray[np.int64], tokenizer: Tokenizer) -> float:
    """Return the share of the vocabulary, or of both together, that has a count of zero."""
    by_side = [(counts.sum(0), "src")] if tokenizer.joint else [*zip(counts, SIDES, strict=True)]
    used = [
        count > 0
        for of_side, side in by_side
        for piece, count in zip(tokenizer.vocabulary_pieces(side), of_side.tolist(), strict=False)
        if not NOT_TEXT.fullmatch(piece)
    ]
    return _share(len(used) - sum(used), len(used))


def _share(part: int, whole: int) -> float:
    return float(part) / max(1, whole)
