"""Special ids, language tags, and what a model needs to know about a tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

PAD, UNK, BOS, EOS = 0, 1, 2, 3
"""Ids of <pad>, <unk>, <s> and </s>, the same in every vocabulary."""

SIDES = ("src", "tgt")
"""Source and target, as keys and in file names."""


class LanguageTags(NamedTuple):
    """Last id of a source and first id of a target.

    With one direction they are ``</s>`` and ``<s>``. With several directions they are the tags of the source and of
    the target language, which tell the model what it translates from and into.
    """

    src_end: int = EOS
    tgt_begin: int = BOS


@dataclass(frozen=True)
class Vocabulary:
    """What a model needs to know about the tokenizer.

    Attributes:
        src_size: number of pieces in the source vocabulary, special ids included; ``tgt_size`` likewise.
        joint: whether source and target share one vocabulary.
        src_tag: id of the source language's tag, for a source that ends in ``</s>``. A source that ends in a language
            tag uses that tag instead.
        tgt_tag: id of the target language's tag, for a target that begins with ``<s>``.
    """

    src_size: int
    tgt_size: int
    joint: bool
    src_tag: int
    tgt_tag: int
