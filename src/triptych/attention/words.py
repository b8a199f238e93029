"""Pieces and words of a sentence, and attention weights between words.

L layers, H heads, Q queries, K keys.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from triptych.contract.vocabulary import UNK
from triptych.data.tokenizer import SRC_TAG, Tokenizer

SPACE = "▁"
"""SentencePiece's symbol for a space, at the beginning of a word's first piece."""


@dataclass(frozen=True)
class Tokens:
    """The tokens on one axis.

    Attributes:
        ids: of the pieces.
        pieces: as the tokenizer writes them.
        words: text of each word; special tokens, and punctuation before and after a word, are words of their own.
        starts: index of each word's first piece, ascending from 0.
    """

    ids: list[int]
    pieces: list[str]
    words: list[str]
    starts: list[int]


def tokens_of(ids: Sequence[int], side: str, tokenizer: Tokenizer) -> Tokens:
    """Group ids, special ones among them, into words.

    Args:
        ids: of one sentence, or of both in the joint vocabulary.
        side: ``src``, ``tgt``, or ``joint``.
        tokenizer: that the ids are of.
    """
    own_side = "src" if side == "joint" else side
    pieces = tokenizer.pieces(ids, own_side)
    special = [is_special(one, tokenizer) for one in ids]
    starts = list(_word_starts(pieces, special))
    words = []
    for start, end in zip(starts, [*starts[1:], len(ids)], strict=True):
        text = tokenizer.decode([ids[start:end]], own_side)[0].strip()
        words.append(pieces[start] if special[start] else text or SPACE)
    return Tokens(list(ids), pieces, words, starts)


def is_special(token: int, tokenizer: Tokenizer) -> bool:
    """Whether a token is no text: ``</s>`` or a language tag, for example; ``<unk>`` stands for text."""
    return token != UNK and token < SRC_TAG + len(tokenizer.languages)


def _word_starts(pieces: Sequence[str], special: Sequence[bool]) -> Iterator[int]:
    """Yield the index of each word's first piece."""
    bounds = [
        i
        for i, piece in enumerate(pieces)
        if i == 0 or special[i] or special[i - 1] or piece.startswith(SPACE)  # no space follows a special token
    ]
    for start, end in zip(bounds, [*bounds[1:], len(pieces)], strict=True):
        lengths = [1] if special[start] else _without_punctuation(pieces[start:end])
        yield from (start + sum(lengths[:i]) for i in range(len(lengths)))


def _without_punctuation(pieces: Sequence[str]) -> list[int]:
    """Split the pieces between two spaces into punctuation, word and punctuation; return the length of each part."""
    texts = [piece.strip(SPACE) for piece in pieces]
    is_mark = [all(unicodedata.category(character)[0] in "PS" for character in text) for text in texts]
    if all(is_mark):
        return [len(pieces)]
    before, after = is_mark.index(False), is_mark[::-1].index(False)
    before = before if any(texts[:before]) else 0  # a space alone belongs to the word
    return [length for length in (before, len(pieces) - before - after, after) if length]


def between_words(weights: NDArray[np.float32], queries: Tokens, keys: Tokens) -> NDArray[np.float32]:
    """Return the weights between words: sums over the pieces of a key, means over those of a query.

    The weights of a word are then, like those of a piece, shares of one.

    Args:
        weights: (…, Q, K) between pieces.
        queries: on the query axis.
        keys: on the key axis.
    """
    summed = np.add.reduceat(np.add.reduceat(weights, keys.starts, axis=-1), queries.starts, axis=-2)
    sizes = np.diff([*queries.starts, len(queries.pieces)])
    return (summed / sizes[:, None]).astype(np.float32)
