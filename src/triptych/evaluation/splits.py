"""Translate a split of a corpus with a trained model, score the translations, and save them."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from triptych.data.corpus import Corpus
from triptych.decoding.search import Search
from triptych.decoding.translator import Translator
from triptych.errors import UserError
from triptych.evaluation.bleu_variants import bleu_by_length, sentence_bleu_pieces
from triptych.evaluation.metrics import Metric, score_corpus
from triptych.runs.folder import RunFolder, write_json, write_lines

OTHER_SCORES = (
    "sentence_bleu_pieces",
    "sentences",
    "text",
    "seconds",
    "checkpoint",
    "beam_size",
    "length_penalty",
    "max_length_ratio",
    "max_length_extra",
    "by_length",
)
"""Keys of a split's scores in ``result.json`` beside those of the metrics."""


@dataclass
class Evaluation:
    """Scores of one split, as ``result.json`` stores them, with its sources, translations and references."""

    split: str
    scores: dict[str, Any]
    sources: list[str]
    translations: list[str]
    references: list[str]


def evaluate_split(
    translator: Translator,
    corpus: Corpus,
    split: str,
    *,
    metrics: Mapping[str, Metric],
    search: Search,
    search_tokens: int,
    length_edges: Sequence[int],
    checkpoint: str,
) -> Evaluation:
    """Translate every sentence of a split, and score the translations against its references.

    Args:
        translator: the trained model.
        corpus: the corpus with the split.
        split: name of the split.
        metrics: corpus metrics by the names of their scores.
        search: how to translate.
        search_tokens: maximum number of source tokens a batch, including padding.
        length_edges: bounds of the ranges of source lengths, in words.
        checkpoint: name of the checkpoint of the translator's weights, stored with the scores.

    Raises:
        UserError: a metric that ``check_metrics`` refuses.
    """
    check_metrics(metrics)
    sources, references = map(list, corpus.splits[split])
    start = time.perf_counter()
    translations = translate_split(translator, corpus, split, search=search, search_tokens=search_tokens)
    seconds = time.perf_counter() - start
    tokenizer = translator.tokenizer
    pieces = [
        [tokenizer.pieces(ids, "tgt") for ids in tokenizer.encode(lines, "tgt")] for lines in (translations, references)
    ]
    scores = {
        **score_corpus(metrics, translations, references, sources),
        "sentence_bleu_pieces": sentence_bleu_pieces(*pieces),
        "sentences": len(sources),
        "text": hashlib.sha256("\n".join([*sources, *references]).encode()).hexdigest()[:16],
        "seconds": seconds,
        "checkpoint": checkpoint,
        "beam_size": search.beam_size,
        "length_penalty": search.length_penalty,
        "max_length_ratio": search.max_length_ratio,
        "max_length_extra": search.max_length_extra,
        "by_length": bleu_by_length(translations, references, [len(line.split()) for line in sources], length_edges),
    }
    return Evaluation(split, scores, sources, translations, references)


def check_metrics(metrics: Mapping[str, Metric]) -> None:
    """Raise ``UserError`` for a metric without ``name`` or ``score``, or one named like another score."""
    signatures = {f"{name}_signature" for name in metrics}
    for name, metric in metrics.items():
        if not isinstance(metric, Metric):
            raise UserError(
                f"metric.{name}: {type(metric).__name__} is not a metric; give it a name and a method "
                "score(hypotheses, references, sources)."
            )
        if name in OTHER_SCORES or name in signatures:
            raise UserError(f"metric.{name}: result.json has another value of that name; rename the metric.")


def translate_split(
    translator: Translator, corpus: Corpus, split: str, *, search: Search, search_tokens: int
) -> list[str]:
    """Return the translations of a split's sources, each through the languages of its section's route."""
    translations: list[str] = []
    remaining = iter(corpus.splits[split][0])
    for route, size in corpus.sections[split]:
        lines = list(islice(remaining, size))
        for direction in pairwise(route):
            lines = translator.translate(lines, search, search_tokens, direction)
        translations += lines
    return translations


def split_loss(translator: Translator, corpus: Corpus, split: str, search_tokens: int) -> dict[str, float]:
    """Return ``loss``, the mean negative log-likelihood of a split's target tokens in nats, and its ``perplexity``.

    Every ``</s>`` counts as a token.
    """
    remaining = zip(*corpus.splits[split], strict=True)
    nats = tokens = 0.0
    for route, size in corpus.sections[split]:
        sources, targets = zip(*islice(remaining, size), strict=True)
        ids = translator.tokenizer.encode(sources, "src"), translator.tokenizer.encode(targets, "tgt")
        nats -= sum(translator.score_ids(*ids, search_tokens, (route[0], route[-1])))
        tokens += sum(len(line_ids) + 1 for line_ids in ids[1])
    return {"loss": nats / tokens, "perplexity": math.exp(nats / tokens)}


def save_evaluation(evaluation: Evaluation, folder: RunFolder, name: str) -> None:
    """Write translations, references, sources and scores to the run's folder.

    The files are ``translations/<name>.txt``, ``<name>.ref.txt``, ``<name>.src.txt`` and ``<name>.json``.
    """
    write_lines(folder.translations / f"{name}.txt", evaluation.translations)
    write_lines(folder.translations / f"{name}.ref.txt", evaluation.references)
    write_lines(folder.translations / f"{name}.src.txt", evaluation.sources)
    write_json(folder.translations / f"{name}.json", evaluation.scores)
