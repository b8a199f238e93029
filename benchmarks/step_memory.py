"""Memory of one training step, with our loss or with all logits kept."""

from __future__ import annotations

import torch
from torch import Tensor

from triptych.accounting.memory import peak_memory_bytes, reset_peak_memory
from triptych.contract.batch import Batch, Prediction
from triptych.contract.model import TranslationModel
from triptych.training.loss import TranslationLoss


def bytes_of_step(model: TranslationModel, loss: TranslationLoss | None, batch: Batch) -> int:
    """Return the peak bytes of a forward and a backward pass; without a loss, use one that keeps all logits."""
    model.zero_grad(set_to_none=True)
    reset_peak_memory(batch.src.device)
    before = peak_memory_bytes(batch.src.device)
    prediction = model(batch)
    if loss is not None:
        loss(prediction, batch.step_tokens, 0.0).loss.backward()
    else:
        keeping_logits(prediction, label_smoothing=0.1).backward()
    return peak_memory_bytes(batch.src.device) - before


def keeping_logits(prediction: Prediction, label_smoothing: float) -> Tensor:
    """Return the loss in the usual way, with all (N, V) logits in memory."""
    logits = prediction.hidden @ prediction.weight.T
    return torch.nn.functional.cross_entropy(logits.float(), prediction.targets, label_smoothing=label_smoothing)
