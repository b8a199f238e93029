"""The shape of the root configs, and the checks that their types cannot express."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, DictConfig, OmegaConf

from triptych.commands.types import check_types
from triptych.errors import UserError, require_at_least, require_one_of


@dataclass
class Budget:
    """Exactly one of them is given: optimizer steps, passes over the data, source + target tokens, or FLOPs."""

    steps: int | None = None
    epochs: int | None = None
    tokens: int | None = None
    flops: float | None = None


@dataclass
class BatchSize:
    """Padded tokens a batch, for the larger side, and batches to accumulate for one optimizer step."""

    tokens: int = MISSING
    accumulate: int = MISSING


@dataclass
class Validation:
    """Optimizer steps between validations, validations between BLEUs, and how BLEU is decoded."""

    every: int = MISSING
    bleu_every: int = MISSING
    samples: int = MISSING
    search: Any = MISSING


@dataclass
class Checkpoint:
    """What is best (``loss`` or ``bleu``), how many of the last checkpoints are averaged (1: none), and kept."""

    monitor: str = MISSING
    average: int = MISSING
    keep: int = MISSING


@dataclass
class Study:
    """What a report makes of a sweep: its name if any, the arm that others are held against, what is not as published.

    ``varies`` are the things in which arms differ on purpose (``report.study.VARIABLE``).
    """

    name: str | None = None
    reference: str | None = None
    varies: list[str] = field(default_factory=list)
    deviations: list[str] = field(default_factory=list)


@dataclass
class Train:
    """conf/train.yaml."""

    model: Any = MISSING
    data: Any = MISSING
    tokenizer: Any = MISSING
    loss: Any = MISSING
    optimizer: Any = MISSING
    strategy: Any = MISSING
    search: Any = MISSING
    logger: Any = None
    scale: Any = MISSING
    match: Any = None
    study: Study = field(default_factory=Study)
    budget: Budget = field(default_factory=Budget)
    batch: BatchSize = field(default_factory=BatchSize)
    validation: Validation = field(default_factory=Validation)
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    gradient_clip: float = MISSING
    search_tokens: int = MISSING
    log_every: int = MISSING
    length_edges: list[int] = MISSING
    seed: int = MISSING
    output: str = MISSING
    cache: str = MISSING
    run_dir: str | None = None
    sweep: str | None = None


@dataclass
class Translate:
    """conf/translate.yaml."""

    run: str = MISSING
    src: str | None = MISSING
    tgt: str | None = MISSING
    checkpoint: str | None = MISSING
    device: str = MISSING
    search_tokens: int = MISSING
    search: Any = MISSING
    scores: bool = MISSING


@dataclass
class Evaluate:
    """conf/evaluate.yaml."""

    run: str = MISSING
    split: str = MISSING
    checkpoint: str | None = MISSING
    device: str = MISSING
    search_tokens: int = MISSING
    search: Any = MISSING


@dataclass
class Export:
    """conf/export.yaml."""

    run: str = MISSING
    format: str = MISSING
    output: str = MISSING
    checkpoint: str | None = MISSING


def register() -> None:
    """Makes the schema known to Hydra, which then refuses keys and types that it does not have.

    And ``${times:a,b}``, a product that is an integer, by which sizes follow from those of the scale.
    """
    OmegaConf.register_new_resolver("times", times, replace=True)
    store = ConfigStore.instance()
    store.store(name="train_schema", node=Train)
    store.store(name="translate_schema", node=Translate)
    store.store(name="evaluate_schema", node=Evaluate)
    store.store(name="export_schema", node=Export)


def times(a: float, b: float) -> int:
    """Raises ``UserError`` where a product of sizes is no size."""
    if (product := a * b) != round(product):
        raise UserError(f"a size of this arm would be {a} * {b} = {product:g}; give a scale whose sizes it divides.")
    return round(product)


def check(config: DictConfig) -> None:
    """Raises ``UserError`` for what the schema cannot refuse: types of constructors' values, and values."""
    check_types(config)
    for key in ("model", "data", "tokenizer", "loss", "search"):
        if "_target_" not in config[key]:
            raise UserError(f"{key} has no _target_, the class that it configures; see the files of conf/{key}.")
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


def require_one_best(key: str, search: DictConfig) -> None:
    """Raises ``UserError`` where several translations of a line are asked for and one is scored."""
    if (asked := search.get("n_best", 1)) != 1:
        raise UserError(f"{key}.n_best={asked} is for `triptych translate`; here one translation is scored, so set 1.")
