"""Special ids, those around a sentence pair, and what a model must know of a tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

PAD, UNK, BOS, EOS = 0, 1, 2, 3
"""Ids of <pad>, <unk>, <s> and </s>, the same in every vocabulary."""

SIDES = ("src", "tgt")
"""Source and target, as keys and in the names of files."""


class LanguageTags(NamedTuple):
    """The id that a source ends in, and the id that a target begins with.

    In a run of several directions they are the tags of the two languages; otherwise ``</s>`` and ``<s>``.
    """

    src_end: int = EOS
    tgt_begin: int = BOS


@dataclass(frozen=True)
class Vocabulary:
    """What a model must know of the tokenizer.

    Attributes:
        src_size: number of pieces in the source's vocabulary.
        tgt_size: number of pieces in the target's.
        joint: whether the two are one vocabulary.
        src_tag: language tag of the sources, where they end in ``</s>`` and not in a tag.
        tgt_tag: language tag of the targets, where they begin with ``<s>`` and not with a tag.
    """

    src_size: int
    tgt_size: int
    joint: bool
    src_tag: int
    tgt_tag: int
