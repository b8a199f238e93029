"""Save and stop on Ctrl-C, SIGTERM, and what Slurm sends before the end of a job."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback

from triptych.training.distributed import all_gather
from triptych.training.requeue import requeue, wall_time_signal

STEPS_BETWEEN_CHECKS = 20
"""Optimizer steps after which several ranks agree on whether one of them got a signal."""
TERMINATED = 128 + signal.SIGTERM
"""Exit status of a process that SIGTERM has stopped, as schedulers expect it."""
ONE_STOP = 1.0
"""Seconds within which signals count as one: a scheduler may send one to every process, and a sweep then another."""


class SaveOnSignal(Callback):
    """End training after the current optimizer step on Ctrl-C or SIGTERM, with nothing lost.

    Several processes end after the next step at which they agree, at most ``STEPS_BETWEEN_CHECKS`` later.

    A job that submitit has started on Slurm goes back into the queue after SIGTERM, and after the signal that comes
    before its wall time is over.

    A second signal, ``ONE_STOP`` seconds later, ends it at once. Signals reach only the main thread: in another one
    this callback does nothing.

    Args:
        path: of the checkpoint to save.

    Raises:
        KeyboardInterrupt: after Ctrl-C.
        SystemExit: after SIGTERM, with the status ``TERMINATED``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.received = 0
        self._received_at = 0.0
        self._handlers_before: dict[signal.Signals, Any] = {}

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Replace Lightning's handlers, which stop training without saving."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in filter(None, (signal.SIGINT, signal.SIGTERM, wall_time_signal())):
            self._handlers_before[number] = signal.signal(number, self._receive)

    def on_train_batch_start(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        alone = trainer.world_size == 1
        step_begins = batch_idx % trainer.accumulate_grad_batches == 0
        due = step_begins and (alone or trainer.global_step % STEPS_BETWEEN_CHECKS == 0)
        if due and (received := max(all_gather(self.received))):
            save_between_steps(trainer, self.path)
            self._stop(received)

    def on_train_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Stop before the test sets are translated; the last step is saved already."""
        if received := max(all_gather(self.received)):
            self._stop(received)
        self._restore_handlers()  # before Lightning restores those that it found

    def on_exception(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, exception: BaseException
    ) -> None:
        self._restore_handlers()

    def _restore_handlers(self) -> None:
        while self._handlers_before:
            signal.signal(*self._handlers_before.popitem())

    def _receive(self, number: int, _: Any) -> None:
        now = time.monotonic()
        if self.received and now - self._received_at > ONE_STOP:
            self._stop(number)
        if not self.received:
            self.received, self._received_at = number, now

    def _stop(self, number: int) -> None:
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        if (at_wall_time := wall_time_signal()) and (handler := self._handlers_before.get(at_wall_time)):
            self._restore_handlers()
            requeue(handler, at_wall_time)
        raise SystemExit(TERMINATED)


@contextmanager
def kept_interrupt_handler() -> Iterator[None]:
    """Let Ctrl-C do after the context what it did before.

    Lightning ignores Ctrl-C while it ends a training that was stopped. Before the first step it does not know yet what
    to restore, and would go on ignoring it.
    """
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def save_between_steps(trainer: lightning.Trainer, path: Path) -> None:
    """Save a checkpoint at the start of an optimizer step, from which a run goes on with that step."""
    ready = trainer.fit_loop.epoch_loop.batch_progress.total
    # Lightning has counted this batch as ready; without this, later validations would come a step early.
    ready.ready -= 1
    trainer.save_checkpoint(path)
    ready.ready += 1
