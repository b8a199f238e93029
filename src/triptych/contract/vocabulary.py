"""Special ids, those around a sentence pair, and what a model must know of a tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

PAD, UNK, BOS, EOS = 0, 1, 2, 3
"""Ids of <pad>, <unk>, <s> and </s>, the same in every vocabulary."""

SIDES = ("src", "tgt")
"""Source and target, as keys and in the names of files."""


class LanguageTags(NamedTuple):
    """What a source ends in and what a target begins with.

    In a run of several directions they are the tags of the two languages, which say what is read and what is to be
    written.
    """

    src_end: int = EOS
    tgt_begin: int = BOS


@dataclass(frozen=True)
class Vocabulary:
    """What a model must know of the tokenizer.

    Attributes:
        src_size: pieces of the source's vocabulary; ``tgt_size`` likewise.
        joint: whether the two are one.
        src_tag: the language tag of a source that ends in ``</s>``; one that ends in a tag has said its own.
        tgt_tag: the language tag of a target that begins with ``<s>``.
    """

    src_size: int
    tgt_size: int
    joint: bool
    src_tag: int
    tgt_tag: int
