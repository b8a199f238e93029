"""Translate a split of a corpus with a trained model, score the translations, and save them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triptych.data.corpus import Corpus
from triptych.data.pairs import Pairs, Section, target_languages
from triptych.data.tokenizer import Tokenizer
from triptych.data.word_splitting import UNKNOWN
from triptych.decoding.search import Search
from triptych.decoding.translator import Translator
from triptych.errors import UserError
from triptych.evaluation.bleu_variants import bleu_by_length, sentence_bleu_pieces
from triptych.evaluation.length_penalty import COMMON_PENALTY, ChosenSearch
from triptych.evaluation.likelihood import sentence_nats
from triptych.evaluation.mean_nats import mean_nats, nats_lines
from triptych.evaluation.metrics import Metric, deciding_bleu, for_languages, score_corpus
from triptych.evaluation.outputs import repetition_rate
from triptych.evaluation.translation import translate_sections
from triptych.evaluation.word_recall import recall_by_frequency, training_counts
from triptych.runs.folder import RunFolder, write_json, write_lines

OTHER_SCORES = (
    "sentence_bleu_pieces",
    "repetition_rate",
    "cut_share",
    "empty",
    "nats_per_sentence",
    "nats_per_word",
    "sentences",
    "text",
    "seconds",
    "checkpoint",
    "beam_size",
    "length_penalty",
    "length_penalty_tuned",
    "at_common_penalty",
    "max_length_ratio",
    "max_length_extra",
    "min_length",
    "stop",
    "by_length",
    "by_frequency",
)
"""Keys of a split's scores in ``result.json`` beside those of the metrics."""


@dataclass
class Evaluation:
    """Scores of one split or of a text, as ``result.json`` stores them, with sources, translations and references.

    Attributes:
        name: of the split or the text.
        nats: negative log-likelihood of each reference; None for a split that is translated through a pivot.
    """

    name: str
    scores: dict[str, Any]
    sources: list[str]
    translations: list[str]
    references: list[str]
    nats: list[float] | None


def evaluate_split(
    translator: Translator,
    corpus: Corpus,
    split: str,
    *,
    metrics: Mapping[str, Metric],
    chosen: ChosenSearch,
    search_tokens: int,
    length_edges: Sequence[int],
    frequency_edges: Sequence[int] = (),
    checkpoint: str,
) -> Evaluation:
    """Translate every sentence of a split, and score the translations against its references, as ``evaluate_pairs``.

    Args:
        translator: the trained model.
        corpus: the corpus with the split.
        split: name of the split.
        frequency_edges: bounds of the ranges of how often a word occurs in training; none for no recall of words.
    """
    found = evaluate_pairs(
        translator,
        corpus.splits[split],
        corpus.sections[split],
        name=split,
        metrics=metrics,
        chosen=chosen,
        search_tokens=search_tokens,
        length_edges=length_edges,
        checkpoint=checkpoint,
    )
    found.scores |= _word_recall(corpus, split, found.translations, frequency_edges)
    return found


def evaluate_pairs(
    translator: Translator,
    pairs: Pairs,
    sections: Sequence[Section],
    *,
    name: str,
    metrics: Mapping[str, Metric],
    chosen: ChosenSearch,
    search_tokens: int,
    length_edges: Sequence[int],
    checkpoint: str,
) -> Evaluation:
    """Translate sources, and score the translations against their references.

    Args:
        translator: the trained model.
        pairs: sources and references.
        sections: how they are translated.
        name: what the evaluation is called.
        metrics: corpus metrics by the names of their scores.
        chosen: how to translate. If its length penalty was tuned, all is also translated with the common one, in the
            same search.
        search_tokens: maximum number of source tokens a batch, including padding.
        length_edges: bounds of the ranges of source lengths, in words.
        checkpoint: name of the checkpoint of the translator's weights, stored with the scores.

    Raises:
        UserError: a metric that ``check_metrics`` refuses.
    """
    check_metrics(metrics)
    sources, references = map(list, pairs)
    languages = target_languages(sections)
    metrics, bleu = for_languages(metrics, languages), deciding_bleu(metrics, languages)
    start = time.perf_counter()
    found, *alike = translate_sections(
        translator, sources, sections, penalties=chosen.penalties, search=chosen.search, search_tokens=search_tokens
    )
    seconds = time.perf_counter() - start
    translations = [one.text for one in found]
    pieces = [_pieces(translator.tokenizer, lines) for lines in (translations, references)]
    nats = sentence_nats(translator, pairs, sections, search_tokens)
    scores = {
        **score_corpus(metrics, translations, references, sources),
        "sentence_bleu_pieces": sentence_bleu_pieces(_without_unknown(pieces[0]), pieces[1]),
        "repetition_rate": repetition_rate(translations),
        "cut_share": sum(one.cut for one in found) / len(found),
        "empty": sum(not translation.strip() for translation in translations),
        **mean_nats(nats, references),
        "sentences": len(sources),
        "text": hashlib.sha256("\n".join([*sources, *references]).encode()).hexdigest()[:16],
        "seconds": seconds,
        "checkpoint": checkpoint,
        **_search_settings(chosen.search),
        "by_length": bleu_by_length(bleu, translations, references, sources, length_edges),
    }
    if alike:
        again = _at_common_penalty(score_corpus(metrics, [one.text for one in alike[0]], references, sources))
        scores |= {**chosen.as_stored(), "at_common_penalty": again}
    return Evaluation(name, scores, sources, translations, references, nats)


def _pieces(tokenizer: Tokenizer, lines: Sequence[str]) -> list[list[str]]:
    """Return the pieces of lines of the target side."""
    return [tokenizer.pieces(ids, "tgt") for ids in tokenizer.encode(lines, "tgt")]


def _without_unknown(sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the pieces of translations so that ``<unk>`` matches no reference: what it stands for is not known."""
    return [[UNKNOWN if piece == "<unk>" else piece for piece in pieces] for pieces in sentences]


def _word_recall(corpus: Corpus, split: str, translations: Sequence[str], edges: Sequence[int]) -> dict[str, Any]:
    """Return ``by_frequency`` of a split's scores; nothing without edges, since counting takes a pass over training."""
    if not edges:
        return {}
    counts = training_counts(corpus, corpus.sections[split][0][0][-1])
    return {"by_frequency": recall_by_frequency(translations, corpus.splits[split][1], counts, edges)}


def _at_common_penalty(scores: dict[str, Any]) -> dict[str, Any]:
    """Return scores with ``COMMON_PENALTY`` as a result stores them, without signatures: those of the others hold."""
    kept = {key: value for key, value in scores.items() if not key.endswith("_signature")}
    return {"length_penalty": COMMON_PENALTY, **kept}


def _search_settings(search: Search) -> dict[str, Any]:
    """Return the settings of a search that scores are comparable by."""
    return {
        "beam_size": search.beam_size,
        "length_penalty": search.length_penalty,
        "max_length_ratio": search.max_length_ratio,
        "max_length_extra": search.max_length_extra,
        **({"min_length": search.min_length} if search.min_length else {}),
        "stop": search.stop,
    }


def check_metrics(metrics: Mapping[str, Metric]) -> None:
    """Raise ``UserError`` for a metric without ``name`` or ``score``, or one named like another score."""
    taken = {f"{name}_{part}" for name in metrics for part in ("signature", "details")}
    for name, metric in metrics.items():
        if not isinstance(metric, Metric):
            raise UserError(
                f"metric.{name}: {type(metric).__name__} is not a metric; give it a name and a method "
                "score(hypotheses, references, sources)."
            )
        if name in OTHER_SCORES or name in taken:
            raise UserError(f"metric.{name}: result.json has another value of that name; rename the metric.")


def save_evaluation(evaluation: Evaluation, folder: RunFolder, name: str) -> None:
    """Write translations, references, sources and scores to the run's folder.

    The files are ``translations/<name>.txt``, ``<name>.ref.txt``, ``<name>.src.txt`` and ``<name>.json``, and
    ``<name>.nats.txt`` with the negative log-likelihood of each reference.
    """
    write_evaluation(evaluation, folder.translations, name)


def write_evaluation(evaluation: Evaluation, folder: Path, name: str) -> None:
    """Write the files of ``save_evaluation`` to a folder."""
    write_lines(folder / f"{name}.txt", evaluation.translations)
    write_lines(folder / f"{name}.ref.txt", evaluation.references)
    write_lines(folder / f"{name}.src.txt", evaluation.sources)
    if evaluation.nats is not None:
        write_lines(folder / f"{name}.nats.txt", nats_lines(evaluation.nats))
    write_json(folder / f"{name}.json", evaluation.scores)
