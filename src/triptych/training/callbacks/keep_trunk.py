"""Keep the state of training where its cooldown begins."""

from __future__ import annotations

from functools import partial

import lightning
from lightning.pytorch.callbacks import Callback

from triptych.contract.batch import Batch
from triptych.runs.folder import RunFolder
from triptych.runs.trunks import keep_trunk
from triptych.training.callbacks.save_on_signal import save_between_steps


class KeepTrunk(Callback):
    """Keep the state of training before its cooldown, from which larger budgets go on (``training.trunk``).

    Args:
        folder: of the run.
        trunk_hash: identifies its training without the budget.
        steps: optimizer steps before the cooldown.
    """

    def __init__(self, folder: RunFolder, trunk_hash: str, steps: int) -> None:
        self.folder = folder
        self.trunk_hash = trunk_hash
        self.steps = steps

    def on_train_batch_start(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        step_begins = batch_idx % trainer.accumulate_grad_batches == 0
        if step_begins and trainer.global_step == self.steps and not self.folder.trunk.exists():
            keep_trunk(self.folder, self.trunk_hash, self.steps, partial(save_between_steps, trainer))
