"""Translate a split with a trained run, and score it."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from triptych.data.corpus import Corpus
from triptych.decoding.search import Search
from triptych.evaluation.metrics import bleu_by_length, corpus_scores, sentence_bleu_pieces
from triptych.runs.folder import RunFolder, write_json, write_lines
from triptych.runs.trained_run import Translator


@dataclass
class Evaluation:
    """One split's scores, as ``result.json`` has them, and its translations."""

    split: str
    scores: dict[str, Any]
    translations: list[str]
    references: list[str]


def evaluate(
    translator: Translator,
    corpus: Corpus,
    split: str,
    *,
    search: Search,
    search_tokens: int,
    length_edges: Sequence[int],
) -> Evaluation:
    """Translates every sentence of a split, on its route, and scores the text against its references.

    Args:
        translator: the trained run.
        corpus: has the split.
        split: its name.
        search: how to translate.
        search_tokens: padded source tokens translated at a time.
        length_edges: bounds of the source-length ranges, in words.
    """
    sources, references = map(list, corpus.splits[split])
    began = time.perf_counter()
    translations: list[str] = []
    rest = iter(sources)
    for route, size in corpus.sections[split]:
        lines = list(islice(rest, size))
        for direction in pairwise(route):
            lines = translator.translate(lines, search, search_tokens, direction)
        translations += lines
    seconds = time.perf_counter() - began
    tokenizer = translator.tokenizer
    pieces = [
        [tokenizer.pieces(ids, "tgt") for ids in tokenizer.encode(lines, "tgt")] for lines in (translations, references)
    ]
    scores = {
        **corpus_scores(translations, references),
        "sentence_bleu_pieces": sentence_bleu_pieces(*pieces),
        "sentences": len(sources),
        "text": hashlib.sha256("\n".join([*sources, *references]).encode()).hexdigest()[:16],
        "seconds": seconds,
        "checkpoint": translator.checkpoint,
        "beam_size": search.beam_size,
        "length_penalty": search.length_penalty,
        "max_length_ratio": search.max_length_ratio,
        "max_length_extra": search.max_length_extra,
        "by_length": bleu_by_length(translations, references, [len(line.split()) for line in sources], length_edges),
    }
    return Evaluation(split, scores, translations, references)


def likelihood(translator: Translator, corpus: Corpus, split: str, search_tokens: int) -> dict[str, float]:
    """Mean negative log-likelihood of a split's target pieces, ``</s>`` included, in nats, and its exponential."""
    rest = zip(*corpus.splits[split], strict=True)
    nats = tokens = 0.0
    for route, size in corpus.sections[split]:
        sources, targets = zip(*islice(rest, size), strict=True)
        ids = translator.tokenizer.encode(sources, "src"), translator.tokenizer.encode(targets, "tgt")
        nats -= sum(translator.score_ids(*ids, search_tokens, (route[0], route[-1])))
        tokens += sum(len(of_line) + 1 for of_line in ids[1])
    return {"loss": nats / tokens, "perplexity": math.exp(nats / tokens)}


def save(evaluation: Evaluation, folder: RunFolder, name: str) -> None:
    """Writes translations and references side by side, and the scores as JSON, as ``translations/<name>.*``."""
    write_lines(folder.translations / f"{name}.txt", evaluation.translations)
    write_lines(folder.translations / f"{name}.ref.txt", evaluation.references)
    write_json(folder.translations / f"{name}.json", evaluation.scores)
