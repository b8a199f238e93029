"""Translate and score one split, or score the suites, with a trained run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hydra.utils import get_object, instantiate
from omegaconf import DictConfig, OmegaConf

from triptych.data.contrast import SUITES
from triptych.data.corpus import Corpus
from triptych.data.pairs import target_languages
from triptych.decoding.choices import EXACT
from triptych.errors import UserError, one_line
from triptych.evaluation.length_penalty import ChosenSearch, choose_length_penalty
from triptych.evaluation.metrics import Metric, for_languages
from triptych.evaluation.splits import check_metrics, evaluate_split, save_evaluation
from triptych.evaluation.suites import evaluate_suites, save_suites
from triptych.runs.demo import is_demo
from triptych.runs.run import Run
from triptych.runs.stored_config import TARGET, values_in

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunEvaluation:
    """Scores of a split, and where its translations were written.

    Attributes:
        split: name of the split.
        scores: as ``test.<split>`` of result.json.
        metrics: what tables call each metric, by the name of its score.
        translations: path of the translations; references, sources and scores lie beside it. None if the run's folder
            keeps none: it cannot be written, or is that of a demo run.
    """

    split: str
    scores: dict[str, Any]
    metrics: dict[str, str]
    translations: Path | None


@dataclass(frozen=True)
class SuitesEvaluation:
    """Scores of contrastive suites, and where their items were written.

    Attributes:
        scores: of each suite, as ``suites`` of result.json.
        items: folder of the items with their margins; None if the run's folder keeps none.
    """

    scores: dict[str, dict[str, Any]]
    items: Path | None


def build_metrics(metric: DictConfig) -> dict[str, Metric]:
    """Build the metrics of a configuration, by the names of their scores.

    Raises:
        UserError: a setting that a metric refuses, a class that is no metric, or a name that another score has.
    """
    metrics = {str(name): instantiate(node) for name, node in metric.items()}
    check_metrics(metrics)
    return metrics


def refuse_readers_of_sources(metric: DictConfig) -> None:
    """Refuse metrics that read the sources where there are none, before one is built, which may fetch its weights.

    Raises:
        UserError: a metric reads the sources.
    """
    for key, target in values_in(OmegaConf.to_container(metric), "metric", TARGET):
        if getattr(get_object(target), "reads_sources", False):
            name = key.split(".")[1]
            raise UserError(f"metric={name} reads the sources too; add input=FILE, or leave {name} out of metric.")


def check_languages(metrics: Mapping[str, Metric], corpus: Corpus) -> None:
    """Check before training that the metrics can score the test sets' languages.

    Raises:
        UserError: one cannot, as one whose tokenisation is not installed.
    """
    for test_set in corpus.test_names:
        for_languages(metrics, target_languages(corpus.sections[test_set]))


def choose_search(run: Run, search: DictConfig, search_tokens: int, metrics: Mapping[str, Metric]) -> ChosenSearch:
    """Build the search of a configuration; a length penalty to be tuned is chosen on the run's validation set.

    Raises:
        UserError: a setting that is not allowed, or text that is not what the run was trained with.
    """
    built = instantiate(search)
    if not built.is_tuned:
        return ChosenSearch(built, {})
    corpus = run.load_corpus()
    check_text(run, corpus)
    return choose_length_penalty(run.translator, corpus, built, search_tokens, metrics)


def evaluate_run(run: Run, split: str, search: DictConfig, metric: DictConfig, search_tokens: int) -> RunEvaluation:
    """Translate and score a split, and keep scores and translations in the run's folder, one set for each search.

    Args:
        run: trained.
        split: ``validation``, or a test set of the run's data.
        search: configuration of how to translate; ``metric`` likewise of the metrics, by their names. A length penalty
            that is to be tuned is chosen on the run's validation set.
        search_tokens: padded source tokens translated at a time.

    Raises:
        UserError: a split that the run's data does not have, or text that is not what the run was trained with.
    """
    wanted = instantiate(search)
    metrics = build_metrics(metric)
    translator = run.translator
    corpus = run.load_corpus()
    check_text(run, corpus)
    if split not in corpus.splits:
        known = [*corpus.splits, *([SUITES] if corpus.suites(1) else [])]
        raise UserError(f"split={split} is unknown; the run's data has {', '.join(known)}.")
    chosen = choose_length_penalty(translator, corpus, wanted, search_tokens, metrics)
    found = evaluate_split(
        translator,
        corpus,
        split,
        metrics=metrics,
        chosen=chosen,
        search_tokens=search_tokens,
        length_edges=run.config.length_edges,
        frequency_edges=run.config.get("frequency_edges", []),
        checkpoint=run.weights,
    )
    how = chosen.search
    limit = f"{how.max_length_ratio:g}x+{how.max_length_extra:g}" + (f".min{how.min_length}" if how.min_length else "")
    stop = "" if how.stop == EXACT else f".{how.stop}"
    name = f"{split}.{run.weights}.beam{how.beam_size}.alpha{how.length_penalty:g}.length{limit}{stop}"
    kept = _keep(run, run.files.translations / f"{name}.txt", partial(save_evaluation, found, run.files, name))
    names = {key: one.name for key, one in metrics.items()}
    return RunEvaluation(split, found.scores, names, kept)


def evaluate_run_on_suites(run: Run, items: int, search_tokens: int) -> SuitesEvaluation:
    """Score the contrastive suites of a run's data, and keep their items with what the model makes of them.

    Args:
        run: trained.
        items: number of items in each suite.
        search_tokens: padded source tokens scored at a time.

    Raises:
        UserError: the data have no suites, or text that is not what the run was trained with.
    """
    corpus = run.load_corpus()
    check_text(run, corpus)
    found = evaluate_suites(run.translator, corpus, items, search_tokens)
    kept = _keep(run, run.files.suites, partial(save_suites, found, run.files, f".{run.weights}"))
    return SuitesEvaluation({name: suite.scores for name, suite in found.items()}, kept)


def _keep(run: Run, path: Path, write: Callable[[], None]) -> Path | None:
    """Write what was found into a run's folder, and return its path; None if it could not or should not be written.

    A run that is read-only, or a full disk, costs no scores. The demo runs stay as they came with the package.
    """
    if is_demo(run.folder):
        return None
    try:
        write()
    except OSError as error:
        logger.warning("%s: %s; what was found is not kept.", path, one_line(error.strerror))
        return None
    return path


def check_text(run: Run, corpus: Corpus) -> None:
    """Raise ``UserError`` if the text that a run was trained with has changed, or further runs had other text."""
    if run.files.result.exists():
        then = run.result["data"]["fingerprint"]
        if then != corpus.fingerprint:
            raise UserError(
                f"run={run.folder} was trained with other text (fingerprint {then}) than its data configuration finds "
                f"now ({corpus.fingerprint}); put its files back, and start from the folder that it was trained from."
            )
    for key, other in [*(("ensemble", one) for one in run.others), *(("rerank", one) for one in run.rerankers)]:
        if (then := other.result["data"]["fingerprint"]) != corpus.fingerprint:
            raise UserError(
                f"{key}: {other.folder} was trained with other text (fingerprint {then}) than run={run.folder} "
                f"({corpus.fingerprint}), and may know the sentences of its splits; give files, as input=… reference=…."
            )
