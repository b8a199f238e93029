"""What is stored of a trained tokenizer beside its models."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TokenizerSettings:
    """Settings of a trained tokenizer, stored as JSON beside its models; ``Tokenizer`` describes the fields."""

    name: str
    algorithm: str
    fingerprint: str
    languages: tuple[str, ...]
    joint: bool
    byte_fallback: bool
    bpe_dropout: float
    unigram_alpha: float | None
    lines: int
