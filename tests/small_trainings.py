"""Small trainings by one or two processes on the CPU, whole and interrupted, and what they leave."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import torch
from conftest import triptych
from torch import Tensor

TRAIN = ["train", "scale=smoke", "name=x", "budget.steps=44", "validation.every=22", "validation.bleu_every=1"]
TRAIN += ["log_every=2", "trainer.gradient_clip_val=0.3", "cache=cache", "test=false"]
TRAIN += ["data.train=500", "data.validation=20", "tokenizer.vocab_size=420", "validation.search.max_length_extra=5"]
# A gradient that is zero but for rounding, as that of a key's bias, stays as small in the step of the optimizer.
TRAIN += ["optimizer.optimizer.eps=1e-3"]
TERMINATED = Path(__file__).parent / "terminated.py"
CPUS = ["strategy.accelerator=cpu", "strategy.precision=32-true", "strategy.workers=0"]


def train(folder: Path, *settings: str) -> None:
    """Train to the end, in this process and those that it starts."""
    folder.mkdir(exist_ok=True)
    done = triptych(*TRAIN, *settings, cwd=folder)
    assert done.returncode == 0, done.stderr


def train_and_terminate(folder: Path, *settings: str, after: int) -> None:
    """Train in a process of its own, which gets SIGTERM after so many optimizer steps, and soon ends."""
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, TERMINATED, str(after), *TRAIN, *settings],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
        timeout=200,
    )
    assert done.returncode == 143, done.stdout
    assert "goes on from step" in done.stdout


def weights(folder: Path) -> dict[str, Tensor]:
    """The weights of the last checkpoint."""
    return torch.load(folder / "runs" / "x" / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]


def log(folder: Path) -> list[dict[str, float]]:
    """The lines of the log, without speeds."""
    with (folder / "runs" / "x" / "metrics.csv").open() as lines:
        rows = [{name: float(cell) for name, cell in row.items() if cell} for row in csv.DictReader(lines)]
    return [{name: value for name, value in row.items() if "per_second" not in name} for row in rows]


def stream(folder: Path) -> tuple[str, dict[str, str]]:
    """The hashes of the batches seen, at the end and after 1, 2, 4, 8 … steps."""
    data = json.loads((folder / "runs" / "x" / "result.json").read_text())["data"]
    return data["token_stream"], data["token_stream_after"]
