"""A training that is told to stop saves where it is, and says by its exit status who told it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import lightning
import pytest
import torch
from torch.utils.data import DataLoader

from triptych.training.callbacks.save_on_signal import TERMINATED, SaveOnSignal, kept_interrupt_handler

STEPS = 6


class Signalled(lightning.LightningModule):
    """Trains one number, and is sent a signal in the middle of a batch."""

    def __init__(self, number: signal.Signals, batch: int | None) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.number, self.batch = number, batch

    def training_step(self, batch: torch.Tensor, batch_idx: int) -> torch.Tensor:
        if batch_idx == self.batch:
            os.kill(os.getpid(), self.number)
        return self.weight * 1.0

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def make_trainer(folder: Path, accumulate: int = 1) -> lightning.Trainer:
    return lightning.Trainer(
        accelerator="cpu",
        max_steps=STEPS,
        max_epochs=1,
        accumulate_grad_batches=accumulate,
        callbacks=[SaveOnSignal(folder / "last.ckpt")],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, TERMINATED), (signal.SIGINT, 1)])
@pytest.mark.parametrize("step", [0, 2, STEPS - 1], ids=["first", "middle", "last"])
def test_saves_after_the_step_at_hand(
    tmp_path: Path, number: signal.Signals, status: int, accumulate: int, step: int
) -> None:
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    trainer = make_trainer(tmp_path, accumulate)
    module = Signalled(number, batch=step * accumulate)
    with pytest.raises(SystemExit) as stopped:
        trainer.fit(module, DataLoader(torch.zeros(STEPS * accumulate)))
    assert stopped.value.code == status
    assert trainer.global_step == step + 1
    if step < STEPS - 1:  # the last step is saved by whatever saves the end of a training
        assert torch.load(tmp_path / "last.ckpt", weights_only=True)["global_step"] == step + 1
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_training_that_ends_leaves_no_handler(tmp_path: Path) -> None:
    """Otherwise a run could not be stopped while it is scored, nor a sweep between its arms."""
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    make_trainer(tmp_path).fit(Signalled(signal.SIGTERM, batch=None), DataLoader(torch.zeros(STEPS)))
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


def test_signals_that_come_together_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler sends SIGTERM to every process of a sweep, and the sweep passes it on to those of its arms."""
    now = 100.0
    monkeypatch.setattr("triptych.training.callbacks.save_on_signal.time.monotonic", lambda: now)
    callback = SaveOnSignal(tmp_path / "last.ckpt")
    for _ in range(2):
        callback._receive(signal.SIGTERM, None)
    assert callback.received == signal.SIGTERM
    now += 2
    with pytest.raises(SystemExit):
        callback._receive(signal.SIGTERM, None)


class InterruptedSetup(lightning.Callback):
    """Ctrl-C while the training is set up, when no handler is installed yet."""

    def setup(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, stage: str) -> None:
        raise KeyboardInterrupt


def test_ctrl_c_before_the_first_step_leaves_ctrl_c_as_it_was(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    trainer = make_trainer(tmp_path)
    trainer.callbacks.append(InterruptedSetup())
    with pytest.raises(SystemExit), kept_interrupt_handler():
        trainer.fit(Signalled(signal.SIGINT, batch=None), DataLoader(torch.zeros(STEPS)))
    assert signal.getsignal(signal.SIGINT) is before
