"""Freed memory goes back to the system now and then."""

from __future__ import annotations

import lightning
from lightning.pytorch.callbacks import Callback

from triptych.kernels.cpu_memory import trim_freed_memory


class GiveBackMemory(Callback):
    """Give freed memory back after each validation.

    Training steps keep it for each other (``kernels.cpu_memory``), in pieces between what is in use. As batches differ
    in size, the pieces do not fit the next batch or the search of a validation, and the process would grow.
    """

    def on_validation_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        trim_freed_memory()
