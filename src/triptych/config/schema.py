"""The shape of the root configs, which Hydra holds every value against."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, OmegaConf

from triptych.errors import UserError


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
