"""A trained run in the form of another program, and whether that program says what ours does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from triptych.decoding.search import Search, decode
from triptych.errors import UserError
from triptych.layers.ctranslate2 import require_ctranslate2
from triptych.runs.trained_run import Translator

TOLERANCE = 1e-3
"""Nats by which two programs in float32 may differ over the log-probability of a sentence."""


@dataclass(frozen=True)
class Comparison:
    """Of two programs, over the same sentences.

    Attributes:
        sentences: how many.
        same: how many translations are the same pieces.
        difference: the largest difference, in nats, between the log-probabilities that they give to our translations.
    """

    sentences: int
    same: int
    difference: float


def to_ctranslate2(translator: Translator, folder: Path) -> None:
    """Makes the folder of a CTranslate2 model, with the SentencePiece models that it needs.

    Raises:
        UserError: CTranslate2 cannot run this architecture, or is not installed; or the run has several directions.
    """
    if translator.directions.several:
        raise UserError(
            "CTranslate2 is given no tags, which a run of data.directions needs; export a run of one direction."
        )
    spec, tokenizer = translator.model.ctranslate2(), translator.tokenizer
    spec.register_source_vocabulary(tokenizer.vocabulary_pieces("src"))
    spec.register_target_vocabulary(tokenizer.vocabulary_pieces("tgt"))
    spec.validate()
    spec.optimize()
    folder.mkdir()
    spec.save(str(folder))
    tokenizer.save(folder)


def compare_ctranslate2(translator: Translator, folder: Path, lines: Sequence[str], search: Search) -> Comparison:
    """Translates lines with both, without a length penalty, as each program has its own."""
    tokenizer = translator.tokenizer
    sources = [ids for ids in tokenizer.encode(lines, "src") if ids]
    plain = Search(
        beam_size=search.beam_size,
        length_penalty=0.0,
        max_length_ratio=search.max_length_ratio,
        max_length_extra=search.max_length_extra,
        n_best=1,
    )
    found = decode(translator.model, sources, plain, search_tokens=4096, device=translator.device)
    ours = [hypotheses[0].tokens for hypotheses in found]
    other: Any = require_ctranslate2().Translator(str(folder), device="cpu", compute_type="float32")
    pieces = [tokenizer.pieces(ids, "src") for ids in sources]
    longest = int(plain.limit(torch.tensor(max(map(len, sources)) + 1)))
    theirs = other.translate_batch(
        pieces, beam_size=plain.beam_size, length_penalty=0, max_decoding_length=longest, max_batch_size=64
    )
    scored = other.score_batch(pieces, [tokenizer.pieces(ids, "tgt") for ids in ours], max_batch_size=64)
    pairs = zip(translator.score_ids(sources, ours), scored, strict=True)
    return Comparison(
        sentences=len(sources),
        same=sum(tokenizer.pieces(a, "tgt") == b.hypotheses[0] for a, b in zip(ours, theirs, strict=True)),
        difference=max(abs(score - sum(other.log_probs)) for score, other in pairs),
    )
