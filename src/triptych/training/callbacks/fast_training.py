"""The processor's faster matrix products, in the steps of training alone."""

from __future__ import annotations

from contextlib import ExitStack

import lightning
from lightning.pytorch.callbacks import Callback

from triptych.kernels.fast_matmul import fast_products


class FastTraining(Callback):
    """Use ``kernels.fast_matmul.fast_products`` in training steps, and not in the translations between them.

    Decoding meets many small sizes of products, for which the faster library does not pay.
    """

    def __init__(self) -> None:
        self._active = ExitStack()

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self._active.enter_context(fast_products(trainer.strategy.root_device))

    def on_train_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self._active.close()

    on_validation_start = on_train_end
    on_validation_end = on_train_start

    def on_exception(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, exception: BaseException
    ) -> None:
        self._active.close()
