"""Sections of conf/train.yaml that no constructor takes: their keys, types and ranges."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any

from omegaconf import MISSING

from triptych.ranges import Amount, Count, NonNegative, Range, Whole


@dataclass
class Budget:
    """Length of training, given in exactly one unit; the others are None.

    Attributes:
        steps: optimizer steps.
        epochs: passes over the training set.
        tokens: source and target tokens, without padding.
        flops: floating-point operations of training, forward and backward.
    """

    steps: int | None = None
    epochs: int | None = None
    tokens: int | None = None
    flops: float | None = None


@dataclass
class BatchSize:
    """Padded tokens in a batch, on its larger side; batches of each device (``accumulate``), or of all devices together
    (``per_step``), in an optimizer step."""

    tokens: Amount = MISSING
    accumulate: Count = MISSING
    per_step: Count | None = MISSING


@dataclass
class Validation:
    """Optimizer steps between validations, validations between BLEU scores, and how the latter are decoded."""

    every: Amount = MISSING
    bleu_every: Amount = MISSING
    samples: Whole = MISSING
    search: Any = MISSING


@dataclass
class Checkpoint:
    """Measure of the best checkpoint (``loss`` or ``bleu``); number of the last ones to average and to keep."""

    monitor: str = MISSING
    average: Count = MISSING
    keep: Count = MISSING


_MATCH = {"by": str, "reference": str, "times": float, "budget_times": float}
Match = make_dataclass("Match", [(name, kind, MISSING) for name, kind in _MATCH.items()])
"""What is made equal to that of a model, ``parameters`` or ``flops``, and multiples of it and of the budget."""


@dataclass
class Strategy:
    """Devices, and what they compute with; Lightning's names, but for ``compile``, ``kernels`` and ``workers``."""

    accelerator: str = MISSING
    devices: Annotated[int, Range(1, 4096)] = MISSING
    num_nodes: Annotated[int, Range(1, 4096)] = MISSING
    strategy: str = MISSING
    precision: int | str = MISSING
    compile: bool | None = MISSING
    kernels: str = MISSING
    workers: Annotated[int, Range(0, 256)] = MISSING


@dataclass
class Optimizer:
    """The optimizer without its parameters, its weight decay on matrices, and the learning rate by step."""

    optimizer: Any = MISSING
    weight_decay: NonNegative = MISSING
    schedule: Any = MISSING
