"""Which dashboard a study's command line asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from triptych.config.composition import RunConfig, sweep_of
from triptych.config.validation import SMALL_VOCABULARY, build_without_values
from triptych.contract.model import TranslationModel
from triptych.contract.vocabulary import Vocabulary
from triptych.errors import UserError
from triptych.layers.recording import recordable_attentions
from triptych.reports.dashboard import AXES, StudyDashboard, introduction
from triptych.sweeps.arms import read_arms, sweep_name
from triptych.sweeps.sweep import refuse_mistakes

LOGGER = "logger=wandb"


def plan_dashboard(overrides: Sequence[str], axis: str) -> tuple[StudyDashboard, Path]:
    """Return the dashboard of a study, and the folder of its runs.

    Args:
        overrides: with which ``triptych train`` runs the study.
        axis: what charts are drawn along, a key of ``AXES``.

    Raises:
        UserError: no study, whatever training would refuse, or loggers without W&B.
    """
    if axis not in AXES:
        raise UserError(f"x={axis} is unknown; choose one of {', '.join(AXES)}.")
    given = list(overrides) if any(one.startswith("logger=") for one in overrides) else [*overrides, LOGGER]
    if (found := sweep_of(given)) is None:
        raise UserError("a dashboard shows the arms of a study; give experiment=…, or a sweep with -m.")
    if not found[1]:
        raise UserError("this sweeper chooses its arms as it goes along; a dashboard shows arms that are known.")
    run_configs = refuse_mistakes(found[1])
    first, output = run_configs[0].config, Path(run_configs[0].config.output).expanduser()
    if (wandb := first.logger.get("wandb")) is None:
        raise UserError(f"a dashboard shows runs that were logged to W&B; add {LOGGER} to these overrides.")
    dashboard = StudyDashboard(
        study=first.study.name or _name_of_sweep(output),
        scale=run_configs[0].choices["scale"],
        entity=wandb.entity or "",
        project=wandb.project,
        axis=axis,
        predicts_source=any(map(_predicts_source, run_configs)),
        has_attention=any(recordable_attentions(_model(one.config)) for one in run_configs),
        test_scores=_test_scores(run_configs),
        text=introduction(first.study.claims, output),
    )
    return dashboard, output


def _name_of_sweep(output: Path) -> str:
    if not read_arms(output):
        raise UserError(f"{output} has no arms yet; train the sweep first, or give its output=….")
    return sweep_name(output)


def _predicts_source(run_config: RunConfig) -> bool:
    """Return whether the loss of an arm has source tokens at its beginning."""
    config = run_config.config
    if instantiate(config.loss).autoencode(0.0) == 0:
        return False
    return _model(config).source_prediction_flops(SMALL_VOCABULARY) > 0


def _model(config: DictConfig) -> TranslationModel:
    vocabulary = Vocabulary(SMALL_VOCABULARY, SMALL_VOCABULARY, config.tokenizer.joint, src_tag=4, tgt_tag=5)
    return build_without_values(config.model, vocabulary)


def _test_scores(run_configs: Sequence[RunConfig]) -> list[str]:
    """Return the scores of test sets that the arms log, each once."""
    names: dict[str, list[str]] = {}
    found: dict[str, None] = {}
    for config in (one.config for one in run_configs if one.config.test):
        data: Any = OmegaConf.to_yaml(config.data)
        if data not in names:
            names[data] = list(instantiate(config.data).test_names)
        found |= dict.fromkeys(f"{test_set}/{metric}" for test_set in names[data] for metric in config.metric)
    return list(found)
