"""Dashboards: Weights & Biases, and how loggers are ended."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import Logger, WandbLogger
from omegaconf import OmegaConf

from triptych.files import replacing
from triptych.runs.folder import RunFolder
from triptych.training.plan import RunPlan
from triptych.training.spending import FLOPS, HOURS, TOKENS

AXES = ("trainer/global_step", TOKENS, FLOPS, HOURS)
"""What charts can be drawn along, besides W&B's own count of lines. Every line has all of them."""
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
    settings = wandb.Settings(silent=True, console="off", disable_git=True, disable_code=True)
    if offline:
        settings.mode = "offline"  # Lightning's own switch comes too late: login has settled the mode
    identity = Path(save_dir) / "wandb.id"
    if not identity.exists():
        with replacing(identity) as beside:
            beside.write_text(secrets.token_hex(4))
    return WandbDashboard(
        name=Path(save_dir).name,
        id=identity.read_text(),
        save_dir=save_dir,
        project=project,
        entity=entity,
        group=group and group[:MOST_LETTERS],
        job_type=job_type and job_type[:MOST_LETTERS],
        log_checkpoint=log_checkpoint,
        tags=list(tags),
        offline=offline,
        settings=settings,
    )


def begin_dashboards(loggers: Sequence[Logger], plan: RunPlan, **further: str) -> None:
    """Show what a run is on its dashboards, and tell W&B along what charts can be drawn.

    Args:
        loggers: all of the run's.
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


def log_scores(logger: Logger, test: dict[str, Any]) -> None:
    """Show the scores of ``result.json`` on a dashboard.

    Args:
        test: scores of each test set, by its name.
    """
    for split, scores in test.items():
        figures = {name: scores[name] for name in scores if f"{name}_signature" in scores}
        logger.log_metrics({f"{split}/{name}": score for name, score in figures.items()})


def log_result(logger: Logger, folder: RunFolder) -> None:
    """Upload what a run has ended with to W&B: its result, curves and translations, and if wanted its best weights.

    Without a connection, W&B keeps copies until ``wandb sync``.
    """
    if not isinstance(logger, WandbDashboard):
        return
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


def close_loggers(loggers: Sequence[Logger], status: str) -> None:
    """End every logger, so that the next run of this process gets its own.

    Args:
        status: ``success`` or ``failed``.
    """
    for logger in loggers:
        logger.finalize(status)
        if isinstance(logger, WandbLogger):
            import wandb

            wandb.finish(exit_code=0 if status == "success" else 1)
