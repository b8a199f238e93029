"""Export a trained model to CTranslate2, and compare the results of the two programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from triptych.decoding.batches import decode
from triptych.decoding.search import Search
from triptych.decoding.translator import Translator
from triptych.errors import UserError
from triptych.export.comparison import Comparison
from triptych.layers.ctranslate2 import require_ctranslate2

TOLERANCE = 1e-3
"""Largest accepted difference, in nats, between the two programs' log-probabilities of a sentence in float32."""


def to_ctranslate2(translator: Translator, folder: Path) -> None:
    """Write the folder of a CTranslate2 model, with the SentencePiece models that it needs.

    Raises:
        UserError: CTranslate2 cannot run this architecture or is not installed, or the model has several directions.
    """
    if translator.directions.several:
        raise UserError(
            "CTranslate2 adds no language tags, which a run of data.directions needs; export a run of one direction."
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
    """Translate lines with both programs, and score our translations with both.

    The search has no length penalty, because the two programs define it differently.
    """
    tokenizer = translator.tokenizer
    sources = [ids for ids in tokenizer.encode(lines, "src") if ids]
    unpenalised = Search(
        beam_size=search.beam_size,
        length_penalty=0.0,
        max_length_ratio=search.max_length_ratio,
        max_length_extra=search.max_length_extra,
        min_length=search.min_length,
        stop=search.stop,
        n_best=1,
    )
    found = decode(translator.model, sources, unpenalised, search_tokens=4096, device=translator.device)
    ours = [hypotheses[0].tokens for hypotheses in found]
    exported: Any = require_ctranslate2().Translator(str(folder), device="cpu", compute_type="float32")
    pieces = [tokenizer.pieces(ids, "src") for ids in sources]
    longest = int(unpenalised.limit(torch.tensor(max(map(len, sources)) + 1)))
    theirs = exported.translate_batch(
        pieces,
        beam_size=unpenalised.beam_size,
        length_penalty=0,
        min_decoding_length=unpenalised.min_length,
        max_decoding_length=longest,
        max_batch_size=64,
    )
    their_scores = exported.score_batch(pieces, [tokenizer.pieces(ids, "tgt") for ids in ours], max_batch_size=64)
    our_scores = translator.score_ids(sources, ours)
    return Comparison(
        sentences=len(sources),
        same=sum(tokenizer.pieces(a, "tgt") == b.hypotheses[0] for a, b in zip(ours, theirs, strict=True)),
        search="without a length penalty",
        difference=max(abs(a - sum(b.log_probs)) for a, b in zip(our_scores, their_scores, strict=True)),
    )
