"""After training: choose the weights, translate the test sets, and score them."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from triptych.data.corpus import VALIDATION, Corpus
from triptych.data.tokenizer import Tokenizer
from triptych.decoding.translator import Translator
from triptych.evaluation.length_penalty import choose_length_penalty
from triptych.evaluation.likelihood import split_loss
from triptych.evaluation.run import build_metrics
from triptych.evaluation.splits import evaluate_split, save_evaluation
from triptych.evaluation.suites import evaluate_suites, save_suites
from triptych.files import link, replacing
from triptych.runs import checkpoints
from triptych.runs.digests import METRICS, with_digests
from triptych.runs.folder import RunFolder, write_json, write_record
from triptych.runs.result_file import read_trained
from triptych.runs.run import load
from triptych.runs.stored_config import read_config, vouched_for
from triptych.runs.translators import build_translator
from triptych.training.build import build_loggers
from triptych.training.loggers import begin_dashboards, close_loggers, log_outcome
from triptych.training.match import with_sizes
from triptych.training.plan import RunPlan

logger = logging.getLogger(__name__)
NO_SCORES: dict[str, Any] = {"validation": {"loss": None, "perplexity": None}, "test": {}}
"""Scores of a training that diverged, whose weights are no numbers."""


def score_training(
    result: dict[str, Any],
    config: DictConfig,
    folder: RunFolder,
    corpus: Corpus,
    device: torch.device | str,
    *,
    trained_config: DictConfig | None = None,
) -> dict[str, Any]:
    """Score what was trained, unless the training diverged.

    Args:
        result: what was trained, the content of ``trained.json``.
        config: configuration of the run.
        folder: its folder.
        corpus: its text.
        device: where to translate.
        trained_config: for a run that this process has just trained, the configuration that it has written into the
            folder. Otherwise that is read, and compared with what the training has left.
    """
    return NO_SCORES if result.get("diverged") else score_run(config, folder, corpus, device, trained_config)


def score_run(
    config: DictConfig,
    folder: RunFolder,
    corpus: Corpus,
    device: torch.device | str,
    trained_config: DictConfig | None = None,
) -> dict[str, Any]:
    """Score the best or the averaged weights on the validation set and, unless ``test`` is false, on the test sets.

    Arguments as of ``score_training``.

    Returns:
        ``validation`` and ``test`` of ``result.json``, ``search`` if a length penalty was tuned, and ``suites`` if any
        are scored.
    """
    checkpoint = "best"
    if config.checkpoint.average > 1:
        checkpoint = "averaged"
        fingerprint = Tokenizer.load(folder.tokenizer).fingerprint
        checkpoints.write_average(folder, config.checkpoint.average, fingerprint)
    translator = _translator(config, folder, checkpoint, str(device), trained_config)
    validation = split_loss(translator, corpus, VALIDATION, config.search_tokens)
    metrics, test = build_metrics(config.metric), {}
    chosen = choose_length_penalty(translator, corpus, instantiate(config.search), config.search_tokens, metrics)
    for split in corpus.test_names if config.test else ():
        logger.info("translating %s …", split)
        found = evaluate_split(
            translator,
            corpus,
            split,
            chosen=chosen,
            search_tokens=config.search_tokens,
            length_edges=config.length_edges,
            frequency_edges=config.frequency_edges,
            metrics=metrics,
            checkpoint=checkpoint,
        )
        save_evaluation(found, folder, split)
        test[split] = found.scores
        logger.info("%s: %s", split, ", ".join(f"{metrics[name].name} {found.scores[name]:.2f}" for name in metrics))
    tuned = chosen.as_stored()
    further = {"search": tuned} if tuned else {}
    scores = {"validation": validation, **further, "test": test}
    if config.suite_items:
        scores["suites"] = _score_suites(translator, folder, corpus, config)
    return scores


def _translator(
    config: DictConfig, folder: RunFolder, checkpoint: str, device: str, trained_config: DictConfig | None
) -> Translator:
    """Return the model of a run with the weights of a checkpoint; arguments as of ``score_training``."""
    if trained_config is None:
        return load(folder.path, checkpoint, device, trust=vouched_for(config)).translator
    tokenizer, weights = Tokenizer.load(folder.tokenizer), checkpoints.find(folder, checkpoint)
    return build_translator(trained_config, tokenizer, weights, trained_config.search, device)


def _score_suites(translator: Translator, folder: RunFolder, corpus: Corpus, config: DictConfig) -> dict[str, Any]:
    """Score the corpus' contrastive suites, and keep their items in the run's folder."""
    found = evaluate_suites(translator, corpus, config.suite_items, config.search_tokens)
    save_suites(found, folder)
    scores = {name: suite.scores for name, suite in found.items()}
    logger.info("suites: %s", ", ".join(f"{name} {100 * one['accuracy']:.1f}%" for name, one in scores.items()))
    return scores


def score_shared_weights(plan: RunPlan, trained: RunFolder, device: str) -> dict[str, Any]:
    """Score the weights of another run with the same training as this run's configuration says.

    The folder appears once it is whole, with its result. It replaces what a training has left that ended before its
    first checkpoint.

    Args:
        plan: of this run.
        trained: run whose weights are used.
        device: where to translate.

    Returns:
        Scores, as of ``score_training``.
    """
    config, folder = plan.run_config.config, plan.folder
    own = {"run": folder.path.name, "config_hash": plan.config_hash, "weights_of": trained.path.name}
    result = {**read_trained(trained, plan.training_hash), **own}
    with replacing(folder.path) as beside:
        _link_weights(trained, beside)
        copied = RunFolder(beside)
        write_record(copied, plan.record)
        OmegaConf.save(with_sizes(config, _sizes(trained, config.model)), copied.config)
        write_json(copied.trained, with_digests(result, copied))
        scores = score_training(result, config, copied, plan.corpus, device)
        write_json(copied.result, with_digests({**result, **scores}, copied))
    loggers, status = build_loggers(config, folder)[1:], "failed"
    try:
        begin_dashboards(loggers, plan, weights_of=trained.path.name)
        log_outcome(loggers, folder, plan.corpus, device)
        status = "success"
    finally:
        close_loggers(loggers, status)
    return scores


def _sizes(trained: RunFolder, model: DictConfig) -> dict[str, int]:
    """Return the sizes that a trained run's model has, since ``match`` may have found others than are configured.

    The rest of the model is this run's own: the other's configuration may be somebody else's.
    """
    return dict(_equal_keys(model, read_config(trained, None).model))


def _equal_keys(own: DictConfig, stored: DictConfig, above: str = "") -> Iterator[tuple[str, int]]:
    """Yield the keys of ``own``, with those of its parts as in ``encoder.d_ff``, and the integers of ``stored``."""
    for key, value in own.items():
        there = stored.get(str(key))
        if OmegaConf.is_dict(value) and OmegaConf.is_dict(there):
            yield from _equal_keys(value, there, f"{above}{key!s}.")
        elif type(value) is int and type(there) is int:
            yield f"{above}{key!s}", there


def _link_weights(trained: RunFolder, beside: Path) -> None:
    """Give a new folder the tokenizer, checkpoints and log of a trained run."""
    for name in ("tokenizer", "checkpoints"):
        # Weights are large and never changed: another name for the same file is enough.
        shutil.copytree(trained.path / name, beside / name, copy_function=link)
    (beside / "checkpoints" / "averaged.ckpt").unlink(missing_ok=True)
    if (trained.path / METRICS).exists():
        shutil.copyfile(trained.path / METRICS, beside / METRICS)
