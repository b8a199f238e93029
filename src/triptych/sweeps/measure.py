"""Measure speed and activation memory of a training on this machine."""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Collection
from typing import Any

import lightning
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback
from omegaconf import DictConfig
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from triptych.config.global_batch import num_processes
from triptych.contract.batch import Batch
from triptych.contract.model import TranslationModel
from triptych.contract.vocabulary import PAD
from triptych.data.corpus import TRAIN
from triptych.data.epoch_plan import Lengths
from triptych.data.store import SPECIAL_TOKENS
from triptych.kernels.cpu_memory import prepare_cpu_memory
from triptych.training.build import TrainingParts, build_trainer, compile_parts, fast_training, silence_lightning
from triptych.training.loss import TranslationLoss

ADAM_AVERAGES = 2
"""Numbers that Adam keeps beside each parameter."""
SAMPLE_TOKENS = 1000
"""Padded tokens of the batch that activations are measured with."""


def measured_speed(config: DictConfig, parts: TrainingParts, steps: int) -> float:
    """Train for some optimizer steps, and return source and target tokens per second of all ranks together.

    The median over the steps after the first quarter. Training, but without validation, logs and checkpoints.
    """
    silence_lightning()
    prepare_cpu_memory()
    rates = TokenRates()
    callbacks = [*fast_training(config), rates]
    trainer = build_trainer(config, steps=steps, devices=1, callbacks=callbacks, folder=None)
    compile_parts(config, parts.module, trainer.strategy.root_device)
    trainer.fit(parts.module, datamodule=parts.data)
    return num_processes(config) * statistics.median(rates.found[len(rates.found) // 4 :])


class TokenRates(Callback):
    """Source and target tokens per second of each optimizer step, from the end of the one before.

    Attributes:
        found: a rate for each step.
    """

    def __init__(self) -> None:
        self.found: list[float] = []
        self._tokens = 0

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self._last = time.perf_counter()

    def on_train_batch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self._tokens += int((batch.host_lengths - 1).sum())
        if (batch_idx + 1) % trainer.accumulate_grad_batches:
            return
        outputs["loss"].item()  # waits for the device
        now = time.perf_counter()
        self.found.append(self._tokens / (now - self._last))
        self._last, self._tokens = now, 0


def training_memory(parameters: int, activations: int) -> int:
    """Return the bytes of weights, gradients, Adam's averages, all of fp32, and of activations."""
    return 4 * parameters * (2 + ADAM_AVERAGES) + activations


def activation_bytes(parts: TrainingParts, batch_tokens: int) -> int:
    """Estimate the memory that a batch keeps for its backward pass: measure a small one and scale by padded tokens."""
    store = parts.stores[TRAIN]
    longest = store.lengths.max(1)
    rows = np.flatnonzero(longest <= np.median(longest))[: max(1, int(SAMPLE_TOKENS / np.median(longest)))]
    pairs = [store.pair(int(row)) for row in rows]
    batch = Batch.from_ids([src.tolist() for src, _ in pairs], [tgt.tolist() for _, tgt in pairs])
    vocabulary_size = len(parts.tokenizer.vocabulary_pieces("tgt"))
    # The output matrix's gradient, which the loss keeps, does not grow with the batch.
    constant = {p.untyped_storage().nbytes() for p in parts.model.parameters() if len(p) == vocabulary_size}
    kept = _kept_bytes(parts.model.cpu().train(), parts.loss.cpu(), batch, constant)
    return int(kept * batch_tokens / max(batch.src.numel(), batch.tgt.numel()))


def activation_bytes_on_gpu(model: TranslationModel, loss: TranslationLoss, lengths: Lengths, precision: str) -> int:
    """Count what a batch keeps for its backward pass on a GPU, by shapes alone.

    Args:
        model: on the ``meta`` device.
        lengths: (B, 2) of the pairs of the batch.
        precision: Lightning's name of the training precision.
    """
    src, tgt = ([[PAD] * count for count in side] for side in (lengths - SPECIAL_TOKENS).T.tolist())
    batch = Batch.from_ids(src, tgt).to(torch.device("meta"))
    model = copy.deepcopy(model).train()
    return _kept_bytes(model if precision.startswith("32") else model.bfloat16(), loss, batch)


def _kept_bytes(model: TranslationModel, loss: TranslationLoss, batch: Batch, left_out: Collection[int] = ()) -> int:
    """Return the bytes of what a forward pass keeps, except weights and storages whose size is in ``left_out``."""
    weights = {parameter.untyped_storage()._cdata for parameter in model.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in weights and storage.nbytes() not in left_out:
            kept[storage._cdata] = storage.nbytes()
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        found = loss(model(batch), batch.step_tokens, 0.0)
    del found
    return sum(kept.values())
