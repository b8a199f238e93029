"""Dashboards: Weights & Biases, and how loggers are ended."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import Logger, WandbLogger
from omegaconf import OmegaConf

from triptych.files import replacing
from triptych.runs.identity import display_overrides
from triptych.training.plan import RunPlan


def wandb_logger(*, save_dir: str, project: str, entity: str | None, group: str | None, tags: list[str]) -> WandbLogger:
    """Build a W&B logger, offline where no key is known, so that no account is needed.

    The dashboard's id is kept in the run's folder: a run that resumes continues the same dashboard.

    Args:
        save_dir: folder of the run.
        project: of W&B; ``entity`` and ``tags`` likewise.
        group: name that the runs of a sweep share.
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
    return WandbLogger(
        name=Path(save_dir).name,
        id=identity.read_text(),
        save_dir=save_dir,
        project=project,
        entity=entity,
        group=group,
        tags=list(tags),
        offline=offline,
        settings=settings,
    )


def dashboard_settings(plan: RunPlan) -> dict[str, Any]:
    """Return what a dashboard shows of a run: its configuration, and as ``arm`` its overrides within the sweep."""
    settings: Any = OmegaConf.to_container(plan.run_config.config, resolve=True)
    shown = display_overrides(plan.run_config.overrides)
    arm = " ".join(one for one in shown if not one.startswith(("seed=", "scale=", "experiment=")))
    return {**settings, "arm": arm}


def log_scores(logger: Logger, test: dict[str, Any]) -> None:
    """Show the scores of ``result.json`` on a dashboard.

    Args:
        test: scores of each test set, by its name.
    """
    for split, scores in test.items():
        figures = {name: scores[name] for name in scores if f"{name}_signature" in scores}
        logger.log_metrics({f"{split}/{name}": score for name, score in figures.items()})


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
