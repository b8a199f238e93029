"""Score a text of the user's own: a run's translations of it, the likelihood of its references, or any translations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from triptych.data.directions import Direction
from triptych.data.pair_source import FilePair
from triptych.data.pairs import Pairs, Section
from triptych.data.text_file import read_lines
from triptych.errors import UserError
from triptych.evaluation.likelihood import sentence_nats
from triptych.evaluation.mean_nats import mean_nats
from triptych.evaluation.metrics import Metric, for_languages, score_corpus
from triptych.evaluation.outputs import repetition_rate
from triptych.evaluation.plain_text import require_plain_text
from triptych.evaluation.run import build_metrics, choose_search, refuse_readers_of_sources
from triptych.evaluation.splits import Evaluation, evaluate_pairs, write_evaluation
from triptych.files import RUN_FILE, file_stem, require_file, require_folder
from triptych.runs.folder import write_json
from triptych.runs.run import Run

FILES = ("input", "reference", "hypothesis")
"""Keys of ``triptych evaluate`` that name files to read."""


@dataclass(frozen=True)
class FileEvaluation:
    """Scores of files.

    Attributes:
        name: of the file that holds the sources or the translations, without the ending of its language.
        scores: as ``test.<split>`` of result.json; of another system's output those of ``score_translations``.
        metrics: what tables call each metric, by the name of its score.
        first_source: the first sentence that a run translated; None if it did not translate.
        kept: path of the translations or of the scores; None if they were kept nowhere.
    """

    name: str
    scores: dict[str, Any]
    metrics: dict[str, str]
    first_source: str | None
    kept: Path | None


def read_text(first: str, second: str) -> Pairs:
    """Return the lines of two files, plain or ``.gz``, line by line of the same sentences.

    Raises:
        UserError: bytes that are not UTF-8, different numbers of lines, or none.
    """
    pairs = list(FilePair(Path(first).expanduser(), Path(second).expanduser()))
    if not pairs:
        raise UserError(f"{first} and {second} have no lines; give files with at least one.")
    return Pairs(*(list(side) for side in zip(*pairs, strict=True)))


def score_text(run: Run, text: Pairs, direction: Direction, search_tokens: int) -> dict[str, Any]:
    """Return the likelihood of references given their sources.

    Args:
        run: trained.
        text: sources and references.
        direction: of the text.
        search_tokens: padded tokens scored at a time.

    Returns:
        ``log_probabilities``, a value in nats for each reference with its ``</s>``, and the means of ``mean_nats``.
    """
    nats = sentence_nats(run.translator, text, [Section(direction, len(text.src))], search_tokens)
    assert nats is not None
    return {"log_probabilities": [-value for value in nats], **mean_nats(nats, text.tgt)}


def evaluate_text(
    run: Run, text: Pairs, name: str, direction: Direction, metrics: Mapping[str, Metric], config: DictConfig
) -> Evaluation:
    """Translate sources with a trained run, and score the translations against their references.

    Args:
        run: trained.
        text: sources and references.
        name: what the text is called.
        direction: of the text.
        metrics: by the names of their scores.
        config: of ``triptych evaluate``; a length penalty that is to be tuned is chosen on the run's validation set.
    """
    return evaluate_pairs(
        run.translator,
        text,
        [Section(direction, len(text.src))],
        name=name,
        metrics=metrics,
        chosen=choose_search(run, config.search, config.search_tokens, metrics),
        search_tokens=config.search_tokens,
        length_edges=run.config.length_edges,
        checkpoint=run.weights,
    )


def score_translations(
    translations: Sequence[str],
    references: Sequence[str],
    sources: Sequence[str] | None,
    metrics: Mapping[str, Metric],
    tgt: str | None,
) -> dict[str, Any]:
    """Score translations of any system against their references.

    Args:
        translations: detokenised lines.
        references: one for each translation.
        sources: one for each translation, which some metrics read; None for empty lines.
        metrics: by the names of their scores.
        tgt: target language, for the metrics that depend on it.

    Returns:
        Scores, signatures and details of the metrics, ``repetition_rate`` and ``sentences``.
    """
    if tgt is not None:
        metrics = for_languages(metrics, [tgt] * len(translations))
    return {
        **score_corpus(metrics, translations, references, sources or [""] * len(translations)),
        "repetition_rate": repetition_rate(translations),
        "sentences": len(translations),
    }


def check_output(config: DictConfig) -> None:
    """Check where ``triptych evaluate`` writes, before it computes.

    Raises:
        UserError: ``output`` cannot be a folder, or has files that are read or belong to a run, and might be replaced.
    """
    if config.output is None:
        return
    folder = Path(config.output).expanduser()
    require_folder(folder, "output")
    if any((parent / RUN_FILE).is_file() for parent in (folder.resolve(), *folder.resolve().parents)):
        raise UserError(
            f"output={config.output} is in the folder of a run, and could replace its files; give another one."
        )
    for key in FILES:
        if config[key] is not None and Path(config[key]).expanduser().resolve().parent == folder.resolve():
            raise UserError(f"output={config.output} is the folder of {key}={config[key]}; give another one.")


def evaluate_files(config: DictConfig, run: Run | None) -> FileEvaluation:
    """Score a text, or another system's output, as the configuration of ``triptych evaluate`` says.

    Args:
        config: with ``input`` or ``hypothesis``.
        run: the run that ``config.run`` names; None if it names none.

    Raises:
        UserError: files that cannot be used, or as ``evaluate_text`` and ``score_translations``.
    """
    for key in FILES:
        if config[key] is not None:
            require_file(key, Path(config[key]).expanduser())
    check_output(config)
    if config.hypothesis is not None and config.input is None:
        refuse_readers_of_sources(config.metric)
    metrics = build_metrics(config.metric)
    names = {key: metric.name for key, metric in metrics.items()}
    if config.hypothesis is not None:
        name, scores = file_stem(config.hypothesis), _score_hypothesis(config, run, metrics)
        kept = None if config.output is None else Path(config.output).expanduser() / f"{name}.json"
        if kept is not None:
            write_json(kept, scores)
        return FileEvaluation(name, scores, names, None, kept)
    assert run is not None
    text, name = read_text(config.input, config.reference), file_stem(config.input)
    direction = run.translator.directions.choose(config.src, config.tgt)
    found = evaluate_text(run, text, name, direction, metrics, config)
    kept = None if config.output is None else Path(config.output).expanduser() / f"{name}.txt"
    if kept is not None:
        write_evaluation(found, kept.parent, name)
    first = next((line for line in text.src if line), "")
    return FileEvaluation(name, found.scores, names, first, kept)


def _score_hypothesis(config: DictConfig, run: Run | None, metrics: Mapping[str, Metric]) -> dict[str, Any]:
    translations, references = read_text(config.hypothesis, config.reference)
    require_plain_text(translations, references, f"hypothesis={config.hypothesis}")
    sources = None if config.input is None else list(read_lines(Path(config.input).expanduser()))
    if sources is not None and len(sources) != len(references):  # the reference may be a pipe, which is read once
        raise UserError(
            f"{config.input} has {len(sources):,} lines and {config.reference} has {len(references):,}; give as many."
        )
    tgt = config.tgt or (None if run is None else run.tested[1])
    return score_translations(translations, references, sources, metrics, tgt)
