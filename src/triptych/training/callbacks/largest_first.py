"""Try the largest batches before training begins, so that a GPU with too little memory shows it at once."""

from __future__ import annotations

import lightning
import torch
from lightning.pytorch.callbacks import Callback

from triptych.data.datamodule import TranslationData
from triptych.training.module import TranslationModule, random_state, set_random_state


class LargestFirst(Callback):
    """Run the batches that need most memory through the model, forwards and backwards, and forget them.

    Meanwhile gradients, and as much memory as the optimizer will take, are reserved as well. Nothing of it reaches the
    training: weights, order of batches and random numbers are as without it. Where pieces are sampled, a batch may
    later be longer than it is here.

    Args:
        module: that trains.
        data: its batches.
    """

    def __init__(self, module: TranslationModule, data: TranslationData) -> None:
        self._module, self._data = module, data

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        module, device = self._module, trainer.strategy.root_device
        state = random_state(device)
        reserved = [_place_of_moments(optimizer) for optimizer in trainer.optimizers]
        for batch in self._data.largest_batches():
            module.batch_description = batch.description
            with trainer.precision_plugin.train_step_context():
                there = batch.to(device)
                loss = module.loss(module.model(there), there.step_tokens, progress=0.0).loss
            loss.backward()
        module.zero_grad(set_to_none=True)
        del reserved
        set_random_state(state, device)


def _place_of_moments(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    """Return memory of the size that an optimizer's averages will take: one of each parameter for each beta.

    A resumed one has them already.
    """
    if optimizer.state:
        return []
    groups = optimizer.param_groups
    return [torch.empty_like(weight) for one in groups for _ in one.get("betas", ()) for weight in one["params"]]
