"""A job of Slurm that is told of its end saves, and goes back into the queue."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lightning
import pytest
import torch
from torch.utils.data import DataLoader

from triptych.errors import UserError
from triptych.training import requeue
from triptych.training.callbacks.save_on_signal import TERMINATED, SaveOnSignal


class Submitit:
    """What submitit's handler does: it asks for the job to be requeued, and ends the process."""

    def __init__(self) -> None:
        self.env = SimpleNamespace(job_id="7_1", _requeue=lambda countdown: pytest.fail("submitit's own"))
        self.signals: list[int] = []

    def handle(self, number: int, frame: Any) -> None:
        self.signals.append(number)
        self.env._requeue(3)
        sys.exit(-1)


class Told(lightning.LightningModule):
    """Trains one number, and is sent a signal in the second step."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__()
        self.weight, self.number = torch.nn.Parameter(torch.zeros(())), number

    def training_step(self, batch: torch.Tensor, batch_idx: int) -> torch.Tensor:
        if batch_idx == 1:
            os.kill(os.getpid(), self.number)
        return self.weight * 1.0

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], bool]]:
    """The commands that are given, and whether in a session of their own."""
    given: list[tuple[list[str], bool]] = []

    def run(words: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        given.append((words, options.get("start_new_session", False)))
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(requeue.subprocess, "run", run)
    return given


@pytest.mark.parametrize("number", [signal.SIGUSR2, signal.SIGTERM])
def test_a_job_saves_and_goes_back(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: list[tuple[list[str], bool]]
) -> None:
    monkeypatch.setenv("SUBMITIT_EXECUTOR", "slurm")
    submitit = Submitit()
    before = signal.signal(signal.SIGUSR2, submitit.handle)
    try:
        trainer = lightning.Trainer(
            accelerator="cpu",
            max_steps=6,
            callbacks=[SaveOnSignal(tmp_path / "last.ckpt")],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        with pytest.raises(SystemExit) as stopped:
            trainer.fit(Told(number), DataLoader(torch.zeros(6)))
        assert stopped.value.code == TERMINATED
        assert torch.load(tmp_path / "last.ckpt")["global_step"] == 2
        assert submitit.signals == [signal.SIGUSR2]
        assert commands == [(["scontrol", "requeue", "7_1"], True)]
        assert signal.getsignal(signal.SIGUSR2) == submitit.handle
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_a_job_that_slurm_has_put_back_already_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a time of grace it has; its arm was then marked as failed, by an error that should not happen."""
    said = ["7_1: Job is pending execution\n", "Unable to contact slurm controller\n"]
    answers = iter(subprocess.CompletedProcess([], 1, "", one) for one in said)
    monkeypatch.setattr(requeue.subprocess, "run", lambda *_, **__: next(answers))
    submitit = Submitit()
    requeue.requeue(submitit.handle, signal.SIGUSR2)
    with pytest.raises(
        UserError, match=r"^Slurm does not put job 7_1 back into its queue \(Unable to contact .*\); give"
    ):
        requeue.requeue(submitit.handle, signal.SIGUSR2)


@pytest.mark.parametrize(
    ("variables", "job"),
    [
        ({"SLURM_JOB_ID": "8"}, "8"),
        ({"SLURM_JOB_ID": "9", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "1"}, "7_1"),
    ],
)
def test_a_job_is_named_for_its_arm(
    variables: dict[str, str], job: str, monkeypatch: pytest.MonkeyPatch, commands: list[tuple[list[str], bool]]
) -> None:
    requeue.name_job("lm4mt")
    assert commands == [], "it is no job"
    for name, value in {"SUBMITIT_EXECUTOR": "slurm", **variables}.items():
        monkeypatch.setenv(name, value)
    requeue.name_job("lm4mt")
    assert commands == [(["scontrol", "update", f"JobId={job}", "JobName=lm4mt"], False)]


@pytest.mark.parametrize(
    ("variables", "number"),
    [({}, None), ({"SUBMITIT_EXECUTOR": "local"}, None), ({"SUBMITIT_EXECUTOR": "slurm"}, signal.SIGUSR2)],
)
def test_only_jobs_of_slurm_go_back(
    variables: dict[str, str], number: signal.Signals | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert requeue.wall_time_signal() == number
