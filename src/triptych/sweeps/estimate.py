"""What a run will cost: its model is built, its batches are planned, and nothing is trained."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import lightning
import numpy as np
import torch
from hydra.utils import instantiate
from lightning.pytorch.callbacks import Callback
from omegaconf import DictConfig, OmegaConf
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from triptych.accounting import peaks
from triptych.accounting.parameters import count_parameters
from triptych.config.composition import compose_run
from triptych.config.validation import check
from triptych.contract.batch import Batch
from triptych.data.batching import Stream
from triptych.data.datamodule import TranslationData
from triptych.kernels.malloc import keep_freed_memory
from triptych.runs import folder as runs
from triptych.runs import speeds
from triptych.sweeps.match import resolve_reference
from triptych.training.budget import pair_flops
from triptych.training.build import compile_of, data_of, products_of, quieten, task_of
from triptych.training.loss import TranslationLoss
from triptych.training.prepare import Prepared, prepare
from triptych.training.scoring import device_of

UTILISATION = 0.35
"""Of a device's peak, where no speed has been measured yet."""
AVERAGES = 2
"""Numbers that Adam keeps beside each parameter."""
SAMPLE = 1000
"""Padded tokens of the batch by which activations are measured."""


@dataclass(frozen=True)
class Estimate:
    """Of one run.

    Attributes:
        overrides: those that tell what it computes.
        training: what identifies its training; runs that share it are trained once, but by several devices.
        device: where.
        peak: of the device, FLOP/s.
        tokens: source and target tokens trained on.
        memory: bytes of weights, gradients, Adam's averages, and activations.
        disk: bytes of its checkpoints: the best, the last with what goes on from it, those that are kept.
        averaged: bytes of their mean.
        seconds: of training.
        measured: whether the speed was measured, or follows from ``UTILISATION``.
    """

    overrides: tuple[str, ...]
    training: str
    device: str
    peak: float
    parameters: int
    steps: int
    tokens: int
    flops: float
    memory: int
    disk: int
    averaged: int
    seconds: float
    measured: bool


def estimate(overrides: Sequence[str], device: str | None, measure: int | None, measured: dict[str, float]) -> Estimate:
    """Its text and ids are prepared, unless the cache holds them.

    Args:
        overrides: of ``triptych train``, one run's.
        device: a GPU's name; None is where the strategy would train here.
        measure: optimizer steps by which to measure the speed here; None takes what is known.
        measured: tokens a second of the trainings that were measured, to which this one is added.
    """
    config = compose_run(overrides)
    check(config)
    resolve_reference(config, overrides)
    corpus = instantiate(config.data)
    config.run_dir = ""
    OmegaConf.resolve(config)
    ranks = config.strategy.devices * config.strategy.num_nodes
    training = runs.config_hash(config, corpus.fingerprint, leaving_out=runs.SCORING if ranks == 1 else ())
    prepared, loss = prepare(config, corpus), instantiate(config.loss)
    data = data_of(config, prepared, loss, workers=0)
    tokens, flops = consumption(data.stream, data.total_steps, prepared, loss.autoencode)
    here = "cpu" if device else device_of(config)
    name = device or peaks.device_name(here)
    activations = activation_bytes(prepared, loss, config.batch.tokens)
    if measure and training not in measured:
        measured[training] = measured_speed(config, prepared, data, loss, measure)
    known = measured[training] if measure else speeds.known(config, corpus.fingerprint, name)
    peak = peaks.datasheet_peak(device)[0] if device else peaks.peak_flops(here, config.strategy.precision)[0]
    parameters = count_parameters(prepared.model).total
    kept = config.checkpoint.keep if config.checkpoint.keep > 1 else 0
    return Estimate(
        overrides=tuple(runs.display_overrides(overrides)),
        training=training,
        device=name,
        peak=peak,
        parameters=parameters,
        steps=data.total_steps,
        tokens=tokens,
        flops=flops,
        memory=4 * parameters * (2 + AVERAGES) + activations,
        disk=4 * parameters * (1 + (1 + AVERAGES) + kept),
        averaged=4 * parameters * (config.checkpoint.average > 1),
        seconds=tokens / known if known else flops / (UTILISATION * peak * ranks),
        measured=known is not None,
    )


def consumption(
    stream: Stream, steps: int, prepared: Prepared, autoencode: Callable[[float], float]
) -> tuple[int, float]:
    """Source and target tokens, and FLOPs, of a training."""
    whole, source = pair_flops(stream, prepared.model)
    tokens, flops = 0, 0.0
    for step, window in enumerate(islice(stream.windows(), steps)):
        rows = np.concatenate(window.batches)
        tokens += int(window.tokens.sum())
        flops += float(whole[rows].sum() - (0 if autoencode(step / steps) > 0 else source[rows].sum()))
    return tokens, flops


def measured_speed(
    config: DictConfig, prepared: Prepared, data: TranslationData, loss: TranslationLoss, steps: int
) -> float:
    """Source and target tokens a second of all ranks, by the median over optimizer steps after the first quarter.

    They are those of a run, but for validation, logs and checkpoints.
    """
    quieten()
    keep_freed_memory()
    task = task_of(config, prepared, loss, data.total_steps)
    rates = Rates()
    trainer = lightning.Trainer(
        accelerator=config.strategy.accelerator,
        devices=1,
        precision=config.strategy.precision,
        max_epochs=1,
        limit_train_batches=steps * config.batch.accumulate,
        limit_val_batches=0,
        accumulate_grad_batches=config.batch.accumulate,
        gradient_clip_val=config.gradient_clip or None,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[*products_of(config), rates],
    )
    compile_of(config, task, trainer.strategy.root_device)
    trainer.fit(task, datamodule=data)
    ranks = config.strategy.devices * config.strategy.num_nodes
    return ranks * statistics.median(rates.found[len(rates.found) // 4 :])


class Rates(Callback):
    """Source and target tokens a second of each optimizer step, from the end of the one before."""

    def __init__(self) -> None:
        self.found: list[float] = []
        self._tokens = 0

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self._before = time.perf_counter()

    def on_train_batch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self._tokens += int((batch.host_lengths - 1).sum())
        if (batch_idx + 1) % trainer.accumulate_grad_batches:
            return
        outputs["loss"].item()  # waits for the device
        now = time.perf_counter()
        self.found.append(self._tokens / (now - self._before))
        self._before, self._tokens = now, 0


def activation_bytes(prepared: Prepared, loss: torch.nn.Module, batch_tokens: int) -> int:
    """What a batch keeps for its backward pass: that of a small one, which grows with the tokens."""
    store = prepared.stores["train"]
    longest = store.lengths.max(1)
    rows = np.flatnonzero(longest <= np.median(longest))[: max(1, int(SAMPLE / np.median(longest)))]
    pairs = [store.pair(int(row)) for row in rows]
    batch = Batch.from_ids([src.tolist() for src, _ in pairs], [tgt.tolist() for _, tgt in pairs])
    weights = {parameter.untyped_storage().data_ptr() for parameter in prepared.model.parameters()}
    vocabulary = {
        parameter.untyped_storage().nbytes()
        for parameter in prepared.model.parameters()
        if len(parameter) == len(prepared.tokenizer.vocabulary_pieces("tgt"))
    }
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        # The output matrix's gradient, which the loss keeps, does not grow with the batch.
        if storage.data_ptr() not in weights and storage.nbytes() not in vocabulary:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    model = prepared.model.cpu().train()
    with saved_tensors_hooks(keep, lambda tensor: tensor):
        parts = loss.cpu()(model(batch), batch.step_tokens, 0.0)
    del parts
    padded = max(batch.src.numel(), batch.tgt.numel())
    return int(sum(kept.values()) * batch_tokens / padded)
