"""How far training is: a line for each validation and, in a terminal, a bar below them."""

from __future__ import annotations

import logging
import time
from typing import Any, ClassVar

import lightning
from lightning.pytorch.callbacks import Callback
from rich.console import Console

from triptych.training.callbacks.bars import Bars

logger = logging.getLogger(__name__)


class ProgressValues:
    """Figures that describe a training while it runs, as text."""

    SHOWN: ClassVar = {
        "loss": ("train/loss", "{:.3f}"),
        "tokens/s": ("train/tokens_per_second", "{:,.0f}"),
        "val ppl": ("validation/perplexity", "{:.2f}"),
        "val BLEU": ("validation/bleu", "{:.1f}"),
    }

    def __init__(self, trainer: lightning.Trainer) -> None:
        self.start = (time.perf_counter(), trainer.global_step)

    def values(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> dict[str, str]:
        """Return training loss, tokens per second, the latest validation, and minutes and seconds that are left."""
        latest = getattr(module, "latest", {})
        values = {name: form.format(latest[key]) for name, (key, form) in self.SHOWN.items() if key in latest}
        done = trainer.global_step - self.start[1]
        if done:
            left = (trainer.max_steps - trainer.global_step) * (time.perf_counter() - self.start[0]) / done
            values["left"] = f"{int(left) // 60}:{int(left) % 60:02d}"
        return values


SECONDS_BETWEEN_LINES = 1.0
"""Least seconds between lines of level DEBUG, with which a sweep draws the bars of its arms."""


class ProgressLines(Callback):
    """Log one line for each validation, and lines between them of level DEBUG.

    Their records have an attribute ``progress``: steps done, steps in all, and the other figures as text, by name.
    """

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self._progress = ProgressValues(trainer)
        self._last_line = time.perf_counter()

    def on_train_batch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if time.perf_counter() - self._last_line > SECONDS_BETWEEN_LINES:
            self._log(logging.DEBUG, trainer, pl_module)

    def on_validation_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self._log(logging.INFO, trainer, pl_module)

    def _log(self, level: int, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._last_line = time.perf_counter()
        values = self._progress.values(trainer, module)
        shown = ", ".join(f"{name} {value}" for name, value in values.items())
        step, steps = trainer.global_step, trainer.max_steps
        logger.log(level, "step %s/%s: %s", f"{step:,}", f"{steps:,}", shown, extra={"progress": (step, steps, values)})


class ProgressBar(ProgressLines):
    """In a terminal: a bar of one line, above which the lines of the validations stay.

    Args:
        console: the terminal.
    """

    LABEL = "training"

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars: Bars | None = None

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        super().on_train_start(trainer, pl_module)
        if trainer.is_global_zero:
            self._bars = Bars(self._console)
            self._bars.progress.start()
            self._move(trainer, pl_module)

    def on_train_batch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self._move(trainer, pl_module)

    def on_train_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self._stop()

    def on_exception(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, exception: BaseException
    ) -> None:
        self._stop()

    def _move(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if self._bars:
            values = self._progress.values(trainer, module)
            self._bars.move(self.LABEL, trainer.global_step, trainer.max_steps, values)

    def _stop(self) -> None:
        if self._bars:
            self._bars.progress.stop()
            self._bars = None
