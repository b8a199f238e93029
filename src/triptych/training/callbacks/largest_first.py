"""Try the largest batches before training begins, so that too little memory shows at once."""

from __future__ import annotations

import lightning
from lightning.pytorch.callbacks import Callback

from triptych.data.datamodule import TranslationData
from triptych.training.module import TranslationModule, random_state, set_random_state


class LargestFirst(Callback):
    """Run the batches that need most memory through the model, forwards and backwards, and forget them.

    Nothing of it reaches the training: weights, order of batches and random numbers are as without it.

    Args:
        module: that trains.
        data: its batches.
    """

    def __init__(self, module: TranslationModule, data: TranslationData) -> None:
        self._module, self._data = module, data

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        module, device = self._module, trainer.strategy.root_device
        state = random_state(device)
        for batch in self._data.largest_batches():
            module.batch_shape = batch.shape
            with trainer.precision_plugin.train_step_context():
                there = batch.to(device)
                loss = module.loss(module.model(there), there.step_tokens, progress=0.0).loss
            loss.backward()
            module.zero_grad(set_to_none=True)
        set_random_state(state, device)
