"""Fit: train to the end of the budget, from the last checkpoint if there is one, and record what was trained."""

from __future__ import annotations

import contextlib
import logging
from contextlib import nullcontext
from typing import Any

import lightning
from omegaconf import OmegaConf

from triptych.accounting.memory import peak_memory_bytes, reset_peak_memory
from triptych.accounting.peaks import peak_flops
from triptych.accounting.threads import CoreWatch
from triptych.config.composition import RunConfig
from triptych.config.search_path import own_folders
from triptych.errors import UserError, is_shortage_of_memory, one_line
from triptych.files import error_names, replacing
from triptych.runs import checkpoints, convergence, speed_cache
from triptych.runs.digests import with_digests
from triptych.runs.folder import RunFolder, read_metrics, write_json
from triptych.runs.warnings import of_training
from triptych.training.build import TrainingParts
from triptych.training.callbacks.save_on_signal import TERMINATED, kept_interrupt_handler
from triptych.training.distributed import is_lost_connection, ranks_started_by
from triptych.training.loggers import begin_dashboards
from triptych.training.match import with_sizes
from triptych.training.plan import RunPlan
from triptych.training.result import training_result

logger = logging.getLogger(__name__)


def fit_and_record(plan: RunPlan, parts: TrainingParts, trainer: lightning.Trainer, compiled: bool) -> dict[str, Any]:
    """Train, and write down what was trained: metrics.csv, and trained.json, the result without its scores."""
    folder, config = plan.folder, plan.run_config.config
    several = plan.run_config.processes > 1
    alone = not several and trainer.strategy.root_device.type == "cpu"
    watch = CoreWatch()
    with ranks_started_by(command_of(plan.run_config)) if several else nullcontext():
        peak_memory = fit(plan, parts, trainer)
        seen = parts.module.data_seen.across_ranks()
    other_cores = watch.mean_busy_cores() if alone else None
    if not trainer.is_global_zero:
        return {}
    result = training_result(
        plan,
        parts,
        seen,
        device=trainer.strategy.root_device,
        processes=trainer.world_size,
        compiled=compiled,
        peak_memory=peak_memory,
        other_cores=other_cores,
    )
    logged = read_metrics(folder)
    with replacing(folder.path / "metrics.csv") as beside:
        logged.to_csv(beside, index=False)
    folder.previous.unlink(missing_ok=True)
    write_json(folder.trained, with_digests(result, folder))
    losses = logged.reindex(columns=["step", "validation/loss"]).dropna()
    if convergence.still_falling(fall := convergence.late_fall(losses["step"], losses["validation/loss"])):
        logger.info("still falling: in the last fifth of the training the validation loss fell by %.3f nats.", fall)
    last = None if losses.empty else float(losses["validation/loss"].iloc[-1])
    for found in of_training(result["train"], last):
        logger.warning(found.sentence)
    if not parts.module.changed_devices:
        with contextlib.suppress(OSError):  # a cache that is full or gone costs no result
            steady = speed_cache.steady(logged, result["train"]["tokens_per_second"])
            speed_cache.record(config, plan.corpus.fingerprint, result["train"]["device"], steady)
    return result


def fit(plan: RunPlan, parts: TrainingParts, trainer: lightning.Trainer) -> int:
    """Train to the end of the budget, from the last checkpoint if there is one.

    Returns:
        Most bytes that this process has held.

    Raises:
        UserError: a callback or a logger needs a package that is not installed.
    """
    folder = plan.folder
    if trainer.is_global_zero:
        _describe(plan, parts)
    begin_dashboards(trainer.loggers[1:], plan)
    if (resume := checkpoints.newest_state(folder, plan.training_hash)) is not None:
        parts.data.first_step = checkpoints.step_of(resume)
        logger.info("going on from step %s", f"{parts.data.first_step:,}")
    parts.module.training_hash = plan.training_hash
    device = trainer.strategy.root_device
    if len(trainer.loggers) > 1:  # dashboards show the share of the peak
        peak = peak_flops(device, str(plan.run_config.config.strategy.precision))[0]
        parts.module.peak = peak * trainer.world_size
    reset_peak_memory(device)
    try:
        with error_names(folder.path), kept_interrupt_handler():
            trainer.fit(parts.module, datamodule=parts.data, ckpt_path=resume, weights_only=True)
    except (KeyboardInterrupt, SystemExit) as stop:  # Lightning turns the one into the other
        logger.info("stopped; the same command goes on from step %s.", _saved(folder))
        if isinstance(stop, SystemExit) and stop.code == TERMINATED:
            raise
        raise KeyboardInterrupt from stop
    except (MemoryError, RuntimeError) as error:
        if (sentence := _explain(error, parts.module.batch_description, trainer.world_size, folder)) is None:
            raise
        raise UserError(sentence) from error
    except ModuleNotFoundError as error:
        raise UserError(f"{' '.join(str(error).split())}: install that package, or leave out what needs it.") from error
    return peak_memory_bytes(device)


def _explain(error: Exception, shape: str, ranks: int, folder: RunFolder) -> str | None:
    """Return as a sentence why a training ended that no mistake in its configuration explains; None if unknown.

    Args:
        error: that ended it.
        shape: of the last batch; empty if there was none.
        ranks: processes that trained together.
        folder: of the run.
    """
    if shape and is_shortage_of_memory(error):
        return (
            f"memory was short in a batch of {shape} ({one_line(error)}); lower batch.tokens, and raise "
            "batch.accumulate by as much to keep the tokens of a step."
        )
    if ranks > 1 and is_lost_connection(error):
        return (
            f"another of the {ranks} processes of this training has ended or cannot be reached; its own output may say "
            f"why. The same command goes on from step {_saved(folder)}."
        )
    return None


def _saved(folder: RunFolder) -> str:
    """Return the step that the last checkpoint is of."""
    return f"{checkpoints.step_of(folder.last) if folder.last.exists() else 0:,}"


def _describe(plan: RunPlan, parts: TrainingParts) -> None:
    """Write the tokenizer, and the configuration with matched sizes, into the run's folder."""
    folder = plan.folder
    parts.tokenizer.save(folder.tokenizer)
    with replacing(folder.config) as beside:
        OmegaConf.save(with_sizes(plan.run_config.config, parts.sizes), beside)


def command_of(run_config: RunConfig) -> list[str]:
    """Return the arguments of ``triptych`` that train this run."""
    own = [f"--config-dir={path}" for path in own_folders()]
    return ["train", *run_config.overrides, "hydra.mode=RUN", *own]
