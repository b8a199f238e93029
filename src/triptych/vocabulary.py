"""Special ids, and what a model must know of a tokenizer."""

from __future__ import annotations

from dataclasses import dataclass

PAD, UNK, BOS, EOS = 0, 1, 2, 3
"""Ids of <pad>, <unk>, <s> and </s>, the same in every vocabulary."""

SIDES = ("src", "tgt")
"""Source and target, as keys and in the names of files."""


@dataclass(frozen=True)
class Vocabulary:
    """What a model must know of the tokenizer: how many pieces there are and which of them are the language tags."""

    src_size: int
    tgt_size: int
    joint: bool
    src_tag: int
    tgt_tag: int
