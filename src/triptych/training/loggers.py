"""Dashboards: Weights & Biases, and how loggers are ended."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.loggers import Logger, WandbLogger
from omegaconf import OmegaConf

from triptych.data.corpus import VALIDATION, Corpus
from triptych.files import replacing
from triptych.runs.folder import RunFolder
from triptych.runs.run import Run
from triptych.training.distributed import is_rank_zero
from triptych.training.plan import RunPlan
from triptych.training.spending import FLOPS, HOURS, TOKENS

AXES = ("trainer/global_step", TOKENS, FLOPS, HOURS)
"""What charts can be drawn along, besides W&B's own count of lines. Every line has all of them."""
ATTENTION = "attention"
"""The page of attention over a validation sentence, among the media and the artifacts of a run."""
WORDS_OF_ATTENTION = 40
"""Longest sentence that the page is made of: it grows with the square of the length."""
MOST_LETTERS = 128
"""Longest name of a group and of a job type that W&B takes."""


class WandbDashboard(WandbLogger):
    """Lightning's logger, and whether the best weights are to be uploaded when the run ends.

    Args:
        log_checkpoint: whether to upload them, with the tokenizer.
        given: arguments of Lightning's logger.
    """

    def __init__(self, *, log_checkpoint: bool, **given: Any) -> None:
        super().__init__(**given)
        self.log_checkpoint = log_checkpoint


def wandb_logger(
    *,
    save_dir: str,
    project: str,
    entity: str | None,
    group: str | None,
    job_type: str | None,
    tags: list[str],
    log_checkpoint: bool,
) -> WandbDashboard:
    """Build a W&B logger, offline where no key is known, so that no account is needed.

    The dashboard's id is kept in the run's folder: a run that resumes continues the same dashboard.

    Args:
        save_dir: folder of the run.
        project: of W&B; ``entity`` and ``tags`` likewise.
        group: name that the runs of a study share.
        job_type: name that the seeds of an arm share.
        log_checkpoint: whether to upload the best weights when the run ends.
    """
    import wandb

    offline = not wandb.login(prompt=False, verify=False)
    identity = Path(save_dir) / "wandb.id"
    if not identity.exists() and is_rank_zero():
        with replacing(identity) as beside:
            beside.write_text(secrets.token_hex(4))
    return WandbDashboard(
        name=Path(save_dir).name,
        id=identity.read_text() if identity.exists() else None,  # of a rank that sends nothing
        save_dir=save_dir,
        project=project,
        entity=entity,
        group=group and group[:MOST_LETTERS],
        job_type=job_type and job_type[:MOST_LETTERS],
        log_checkpoint=log_checkpoint,
        tags=list(tags),
        offline=offline,
        settings=wandb_settings(offline),
    )


def wandb_settings(offline: bool) -> Any:
    """Return ``wandb.Settings`` that print nothing, read no code, and send nothing if ``offline``."""
    import wandb

    settings = wandb.Settings(silent=True, console="off", disable_git=True, disable_code=True)
    if offline:
        settings.mode = "offline"  # Lightning's own switch comes too late: login has settled the mode
    return settings


def begin_dashboards(loggers: Sequence[Logger], plan: RunPlan, **further: str) -> None:
    """Show what a run is on its dashboards, and say to W&B what charts can be drawn along.

    Args:
        loggers: of the dashboards.
        plan: of the run.
        further: settings that its configuration does not have.
    """
    for logger in loggers:
        logger.log_hyperparams({**dashboard_settings(plan), **further})
        if isinstance(logger, WandbLogger):
            for axis in AXES:
                logger.experiment.define_metric(axis)


def dashboard_settings(plan: RunPlan) -> dict[str, Any]:
    """Return what a dashboard shows of a run: its configuration, its ``arm``, and the name of its scale."""
    settings: Any = OmegaConf.to_container(plan.run_config.config, resolve=True)
    return {**settings, "arm": plan.arm, "scale_name": plan.run_config.choices.get("scale")}


def log_outcome(loggers: Sequence[Logger], folder: RunFolder, corpus: Corpus, device: torch.device | str) -> None:
    """Show on dashboards what a run has ended with: its scores; on W&B also its files and its attention.

    Args:
        loggers: of the dashboards.
        folder: of the run, with its result.
        corpus: its text.
        device: where the attention is computed.
    """
    if not loggers:
        return
    run = Run(folder.path, device=str(device), trust=None)
    for logger in loggers:
        for split, scores in run.result["test"].items():
            figures = {name: scores[name] for name in scores if f"{name}_signature" in scores}
            logger.log_metrics({f"{split}/{name}": score for name, score in figures.items()})
    on_wandb = [logger for logger in loggers if isinstance(logger, WandbDashboard)]
    for logger in on_wandb:
        _log_files(logger, folder)
    if on_wandb and not run.result.get("diverged"):
        _log_attention(on_wandb, run, corpus)


def _log_files(logger: WandbDashboard, folder: RunFolder) -> None:
    """Upload a run's result, curves and translations, and if wanted its best weights.

    Without a connection, W&B keeps copies until ``wandb sync``.
    """
    import wandb

    files = [folder.result, folder.record, folder.config, folder.path / "metrics.csv"]
    files += sorted(folder.translations.glob("*"))
    artifacts = [(f"result-{logger.version}", "result", files)]
    best = folder.checkpoints / "best.ckpt"
    if logger.log_checkpoint and best.exists():
        artifacts.append((f"model-{logger.version}", "model", [best, *sorted(folder.tokenizer.glob("*"))]))
    for name, kind, paths in artifacts:
        artifact = wandb.Artifact(name, type=kind)
        for path in paths:
            artifact.add_file(str(path), name=path.relative_to(folder.path).as_posix())
        logger.experiment.log_artifact(artifact)


def _log_attention(loggers: Sequence[WandbDashboard], run: Run, corpus: Corpus) -> None:
    """Upload the page of attention over a validation sentence and the run's translation of it.

    It is the first sentence of the first direction that is not too long. A model without attention has no page.
    """
    section = corpus.sections[VALIDATION][0]
    lines = islice(corpus.splits[VALIDATION].src, section.size)
    source = next((line for line in lines if 0 < len(line.split()) <= WORDS_OF_ATTENTION), None)
    direction = section.route[0], section.route[-1]
    if source is None or not (attention := run.attention(source, direction=direction)).maps:
        return
    import wandb

    page = attention.html()
    for logger in loggers:
        logger.experiment.log({ATTENTION: wandb.Html(StringIO(page), inject=False)})  # inject loads a style from a site
        artifact = wandb.Artifact(f"{ATTENTION}-{logger.version}", type=ATTENTION)
        with artifact.new_file(f"{ATTENTION}.html", encoding="utf-8") as file:
            file.write(page)
        logger.experiment.log_artifact(artifact)


def close_loggers(loggers: Sequence[Logger], status: str) -> None:
    """End every logger, even if another one fails, so that the next run of this process gets its own.

    Args:
        status: ``success`` or ``failed``.
    """
    with ExitStack() as stack:  # the last callback runs first
        for logger in reversed(loggers):
            if isinstance(logger, WandbLogger):
                import wandb

                stack.callback(wandb.finish, exit_code=0 if status == "success" else 1)
            stack.callback(logger.finalize, status)
