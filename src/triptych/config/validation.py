"""A run's configuration, checked before any text is read, and before any arm of a sweep is planned."""

from __future__ import annotations

import math
from typing import Any

import torch
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from triptych import kernels
from triptych.config.composition import require_one_best, require_values
from triptych.config.types import check_types
from triptych.contract.model import TranslationModel
from triptych.contract.vocabulary import Vocabulary
from triptych.errors import UserError, require_at_least, require_one_of

SOME_PIECES = 8
"""Of a vocabulary, where only mistakes in a model's other sizes matter."""


def check(config: DictConfig) -> None:
    """Checks what the schema cannot: that nothing is missing, types, values, and that the model, the loss, the searches
    and the schedule can be built.

    Raises:
        UserError: the first mistake.
        hydra.errors.InstantiationException: from ``UserError``, a constructor's.
    """
    require_values(config)
    check_types(config)
    _check_values(config)
    for part in (config.loss, config.search, config.validation.search, config.optimizer.schedule):
        instantiate(part)
    on_meta(config.model, Vocabulary(SOME_PIECES, SOME_PIECES, config.tokenizer.joint, src_tag=4, tgt_tag=5))


def on_meta(config: Any, vocabulary: Vocabulary) -> TranslationModel:
    """The model of a config: its shapes, without values."""
    with torch.device("meta"):
        return instantiate(config, vocabulary=vocabulary)


def _check_values(config: DictConfig) -> None:
    for key in ("model", "data", "tokenizer", "loss", "search"):
        if "_target_" not in config[key]:
            raise UserError(f"{key} has no _target_, the class that it configures; see the files of conf/{key}.")
    directions = config.data.get("directions")
    if OmegaConf.is_list(directions) and len(directions) > 1 and not config.tokenizer.joint:
        raise UserError("data.directions mixes the languages of both sides; set tokenizer.joint=true.")
    given = [key for key, value in config.budget.items() if value is not None]
    if len(given) != 1:
        raise UserError(
            f"budget has {' and '.join(given) or 'nothing'}; give exactly one of budget.steps, budget.epochs, "
            "budget.tokens and budget.flops, and set the others to null."
        )
    require_one_best("search", config.search)
    require_one_best("validation.search", config.validation.search)
    if config.budget.flops is not None and not math.isfinite(config.budget.flops):
        raise UserError(f"budget.flops={config.budget.flops} is no number of FLOPs; give one.")
    positive = {
        f"budget.{given[0]}": math.floor(config.budget[given[0]]),  # FLOPs are more than an integer holds
        "batch.tokens": config.batch.tokens,
        "batch.accumulate": config.batch.accumulate,
        "validation.every": config.validation.every,
        "validation.bleu_every": config.validation.bleu_every,
        "checkpoint.average": config.checkpoint.average,
        "checkpoint.keep": config.checkpoint.keep,
        "search_tokens": config.search_tokens,
        "log_every": config.log_every,
        "strategy.devices": config.strategy.devices,
        "strategy.num_nodes": config.strategy.num_nodes,
    }
    for key, value in positive.items():
        if not isinstance(value, int) or value < 1:
            raise UserError(f"{key}={value} must be an integer of at least 1.")
    for key in ("seed", "gradient_clip"):
        if config[key] < 0:
            raise UserError(f"{key}={config[key]} must be at least 0.")
    require_at_least(0, "strategy", workers=config.strategy.workers)
    require_one_of(kernels.CHOICES, "strategy", kernels=config.strategy.get("kernels", "fast"))
    if config.strategy.compile not in (None, True, False):
        raise UserError(f"strategy.compile={config.strategy.compile} must be true, false or null.")
    edges = list(config.length_edges)
    if not edges or edges != sorted(set(edges)) or edges[0] < 1:
        raise UserError(f"length_edges={edges} must be positive and ascending.")
    if config.checkpoint.keep < config.checkpoint.average:
        raise UserError(
            f"checkpoint.average={config.checkpoint.average} needs as many checkpoints, and "
            f"checkpoint.keep={config.checkpoint.keep} keeps fewer."
        )
    require_one_of(("loss", "bleu"), "checkpoint", monitor=config.checkpoint.monitor)
    if config.checkpoint.monitor == "bleu" and config.validation.bleu_every > 1:
        raise UserError(
            f"checkpoint.monitor=bleu needs a BLEU at every validation; set validation.bleu_every to 1, not "
            f"{config.validation.bleu_every}."
        )
