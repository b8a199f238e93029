"""One run from its configuration to its result.json, in six steps: plan, lock, build, fit, record, score."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import lightning
from omegaconf import DictConfig

from triptych import kernels
from triptych.accounting.devices import explain_precision
from triptych.config.composition import RunConfig
from triptych.config.run_values import run_values
from triptych.evaluation.run import build_metrics, check_languages
from triptych.evaluation.suites import check_suites
from triptych.files import error_names, remove_leftovers, replacing
from triptych.kernels.cpu_memory import give_back_freed_memory, prepare_cpu_memory
from triptych.runs import warnings
from triptych.runs.digests import with_digests
from triptych.runs.folder import (
    RunFolder,
    find_trained,
    started_by_other_code,
    write_json,
    write_record,
)
from triptych.runs.locks import run_lock
from triptych.runs.result_file import read_trained
from triptych.runs.stored_config import vouched_for
from triptych.training.build import (
    build_callbacks,
    build_loggers,
    build_parts,
    build_trainer,
    compile_parts,
    silence_lightning,
)
from triptych.training.callbacks.keep_trunk import KeepTrunk
from triptych.training.checks import check_checkpoints, check_lengths
from triptych.training.devices import claimed_devices, device_of
from triptych.training.distributed import is_rank_zero
from triptych.training.finished import late_overrides, warn_of_late
from triptych.training.fitting import fit_and_record
from triptych.training.initial_weights import take_weights
from triptych.training.loggers import close_loggers, log_outcome
from triptych.training.match import with_sizes
from triptych.training.plan import RunPlan, plan_run, require_same_run, run_folder
from triptych.training.scoring import score_shared_weights, score_training
from triptych.training.starter import end_with_starter
from triptych.training.trunk import go_on_from_trunk, trunk_steps

logger = logging.getLogger(__name__)

NO_TEST_SET = (
    "there is no test set, and only the validation set is scored; data.test names the files of test sets, and with "
    "data=text a share such as data.test=0.02 holds training pairs out."
)


def train_run(
    run_config: RunConfig,
    *,
    sweep: str | None = None,
    label: str | None = None,
    wait: bool = False,
    on_start: Callable[[RunFolder], None] = lambda folder: None,
) -> RunFolder:
    """Train and score one run. A finished run is only named; an interrupted one resumes.

    Args:
        run_config: what the user asked for.
        sweep: name that the runs of a sweep share.
        label: what the sweep calls the arm.
        wait: for another process that trains this run.
        on_start: called with the run's folder once this process holds the run's lock.

    Raises:
        UserError: something in the configuration does not work.
        RunLocked: another process trains this run, and ``wait`` is False.
    """
    end_with_starter()
    with _locked(plan_run(run_config, sweep=sweep, label=label), wait) as plan:
        folder = plan.folder
        other_code = started_by_other_code(folder)
        if folder.result.exists():
            logger.info("finished before%s: %s", ", by other code" if other_code else "", folder.path)
            warn_of_late(late_overrides(folder, run_config))
            return folder
        on_start(folder)
        if other_code:
            logger.info("%s was started by other code; give another output=… to train it from the start.", folder.path)
        values = run_values(folder=str(folder.path), name=folder.path.name, sweep=sweep, study=plan.group, arm=plan.arm)
        with values, kernels.use(run_config.config.strategy.kernels):
            _train_or_share(plan)
    logger.info("result: %s", folder.result)
    return folder


@contextmanager
def _locked(plan: RunPlan, wait: bool) -> Iterator[RunPlan]:
    """Hold the locks of a run and of its folder's name; give the plan with the folder as it is found then.

    Two locks, since two runs may be given the same name.

    Raises:
        RunLocked: another process holds one of them, and ``wait`` is False.
    """
    if not is_rank_zero():  # the other ranks belong to the run of the first one
        yield plan
        return
    with run_lock(plan.folder.path, plan.config_hash, wait=wait):
        folder = run_folder(plan.run_config, plan.config_hash, plan.label)  # another process may have made it
        with run_lock(folder.path, f"{folder.path.name}.folder", wait=wait):
            yield replace(plan, folder=folder)


def _train_or_share(plan: RunPlan) -> None:
    """Train the run, unless another one with the same training has weights to share."""
    config, folder = plan.run_config.config, plan.folder
    if config.suite_items:
        check_suites(plan.corpus, config.suite_items)
    silence_lightning()
    if is_rank_zero():
        remove_leftovers(folder.path)
    give_back_freed_memory()
    prepare_cpu_memory()
    lightning.seed_everything(config.seed, workers=True, verbose=False)
    _say(plan.corpus.report, "data")
    if config.test and not plan.corpus.test_names:
        _say([NO_TEST_SET], "data", "test")
    if plan.run_config.processes > 1:
        _train(plan, config.strategy.devices)
        return
    claim = partial(claimed_devices, config.strategy.accelerator, config.strategy.devices)
    # Of runs that share their weights one trains. The others wait, and then score them at the same time.
    with run_lock(folder.path, f"{plan.training_hash}.training", wait=True):
        trained = None if folder.last.exists() else find_trained(folder, plan.training_hash)
        if not trained:
            with claim() as devices:
                _train(plan, devices)
            return
    with claim() as devices:
        logger.info("weights of %s", trained.path)
        _warn_of(score_shared_weights(plan, trained, device_of(config, devices)))


def _train(plan: RunPlan, devices: int | list[int]) -> None:
    """Build, fit, record and score. Everything is built and checked before the run's folder is made."""
    config, folder = plan.run_config.config, plan.folder
    parts = build_parts(config, plan.corpus, plan.reference)
    if config.init:
        take_weights(parts, config.init, trust=vouched_for(config))
    check_lengths(config, parts)
    metrics = build_metrics(config.metric)
    check_languages(metrics, plan.corpus)  # a mistake is found now, and not after the training
    shared = trunk_steps(config, parts.data.total_steps)
    callbacks = build_callbacks(config, parts, folder, metrics)
    check_checkpoints(config, parts.data.total_steps, callbacks)
    if shared:
        callbacks.append(KeepTrunk(folder, plan.trunk_hash, shared))
    trainer = build_trainer(
        config,
        steps=parts.data.total_steps,
        devices=devices,
        callbacks=callbacks,
        folder=folder.path,
    )
    device = trainer.strategy.root_device
    compiled = compile_parts(config, parts.module, device)
    if trainer.is_global_zero:
        _make_folder(plan)
        if shared:
            go_on_from_trunk(folder, plan.training_hash, plan.trunk_hash, most=shared)
    trainer.loggers = build_loggers(config, folder)
    _say(parts.report_of_text(), "data", "tokenizer")
    _say((found.sentence for found in warnings.of_text(parts.text)), "data", "tokenizer", level=logging.WARNING)
    _say(parts.report_of_model())
    _say(explain_precision("strategy.precision", config.strategy.precision, device, "32-true"), "strategy")
    logger.info("run: %s", folder.path)
    status, trained_config = "failed", None
    try:
        if folder.trained.exists():
            result = read_trained(folder, plan.training_hash)
            logger.info("going on from step %s", f"{result['train']['steps']:,}")
        else:
            result = fit_and_record(plan, parts, trainer, compiled)
            trained_config = with_sizes(config, parts.sizes)
        if trainer.is_global_zero:
            _score(plan, result, trainer, trained_config)
        status = "success"
    finally:
        with error_names(folder.path):  # a log on a full disk does not say where it is
            close_loggers(trainer.loggers, status)


def _say(lines: Iterable[str], *sections: str, level: int = logging.INFO) -> None:
    """Log lines that follow from sections of the configuration. A sweep whose arms share these shows them once."""
    for line in lines:
        logger.log(level, line, extra={"sections": sections})


def _warn_of(scores: dict[str, Any]) -> None:
    _say((found.sentence for found in warnings.of_scores(scores)), level=logging.WARNING)


def _make_folder(plan: RunPlan) -> None:
    """Make the run's folder together with its run.json: no process finds the one without the other.

    Raises:
        UserError: another process has made a run of this name meanwhile.
    """
    folder = plan.folder
    if not folder.path.exists():
        with replacing(folder.path, keep_folder=True) as beside:
            beside.mkdir()
            write_record(RunFolder(beside), plan.record)
    elif not folder.record.exists():
        write_record(folder, plan.record)
    require_same_run(folder, plan.config_hash)


def _score(
    plan: RunPlan, result: dict[str, Any], trainer: lightning.Trainer, trained_config: DictConfig | None
) -> None:
    """Score what was trained, and write result.json; ``trained_config`` as of ``score_training``."""
    config, folder = plan.run_config.config, plan.folder
    try:
        scores = score_training(
            result, config, folder, plan.corpus, trainer.strategy.root_device, trained_config=trained_config
        )
    except (KeyboardInterrupt, SystemExit):
        logger.info("stopped; the same command translates again, and does not train again.")
        raise
    write_json(folder.result, with_digests({**result, **scores}, folder))
    _warn_of(scores)
    log_outcome(trainer.loggers[1:], folder, plan.corpus, trainer.strategy.root_device)
