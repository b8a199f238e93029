"""Sharded training (FSDP2): two processes that share the weights train the model that copies of it would train."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from conftest import triptych
from torch import Tensor

TRAIN = ["train", "scale=smoke", "name=x", "budget.steps=44", "validation.every=22", "validation.bleu_every=1"]
TRAIN += ["log_every=2", "trainer.gradient_clip_val=0.3", "batch.accumulate=2", "cache=cache", "test=false"]
TRAIN += ["data.train=500", "data.validation=20", "tokenizer.vocab_size=420", "validation.search.max_length_extra=5"]
# A gradient that is zero but for rounding, as that of a key's bias, stays as small in the step of the optimizer.
TRAIN += ["optimizer.optimizer.eps=1e-3"]
CPUS = ["strategy.accelerator=cpu", "strategy.precision=32-true", "strategy.workers=0"]
SIMPLE = ("transformer", "rnn", "rnn_luong", "lm4mt", "convs2s")
MODELS = {name: [f"model={name}", "model.dropout=0"] for name in SIMPLE}
for part in ("rnn", "recurrent_blocks"):
    halves = [f"model/{half}={part}" for half in ("encoder", "decoder")]
    MODELS[f"hybrid of {part}"] = ["model=hybrid", *halves, "model.encoder.dropout=0", "model.decoder.dropout=0"]


def train(folder: Path, strategy: str, model: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    done = triptych(*TRAIN, f"strategy={strategy}", *CPUS, *model, cwd=folder)
    assert done.returncode == 0, done.stderr


def train_and_terminate(folder: Path, model: list[str], after: int) -> None:
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "triptych", *TRAIN, "strategy=fsdp", *CPUS, *model],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    while process.poll() is None:
        if (folder / "runs" / "x" / "metrics.csv").exists() and any(line["step"] >= after for line in log(folder)):
            process.send_signal(signal.SIGTERM)
            break
        time.sleep(0.05)
    printed, _ = process.communicate()
    assert process.returncode == 143, printed


def weights(folder: Path) -> dict[str, Tensor]:
    return torch.load(folder / "runs" / "x" / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]


def log(folder: Path) -> list[dict[str, float]]:
    """The lines of the log, without speeds."""
    with (folder / "runs" / "x" / "metrics.csv").open() as lines:
        rows = [{name: float(cell) for name, cell in row.items() if cell} for row in csv.DictReader(lines)]
    return [{name: value for name, value in row.items() if "per_second" not in name} for row in rows]


def stream(folder: Path) -> str:
    return json.loads((folder / "runs" / "x" / "result.json").read_text())["data"]["token_stream"]


def slow(name: str) -> tuple[pytest.MarkDecorator, ...]:
    return () if name == "transformer" else (pytest.mark.slow,)


@pytest.mark.parametrize("name", [pytest.param(name, marks=slow(name)) for name in MODELS])
def test_it_trains_as_copies_do_and_goes_on_exactly(name: str, tmp_path: Path) -> None:
    model = MODELS[name]
    train(tmp_path / "copies", "ddp", model)
    train(tmp_path / "shards", "fsdp", model)
    train_and_terminate(tmp_path / "stopped", model, after=6)
    train(tmp_path / "stopped", "fsdp", model)

    assert stream(tmp_path / "copies") == stream(tmp_path / "shards") == stream(tmp_path / "stopped")
    copies, shards, stopped = (weights(tmp_path / folder) for folder in ("copies", "shards", "stopped"))
    torch.testing.assert_close(shards, copies, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(stopped, shards, rtol=0, atol=0)
    assert log(tmp_path / "stopped") == log(tmp_path / "shards")
    for of_shards, of_copies in zip(log(tmp_path / "shards"), log(tmp_path / "copies"), strict=True):
        assert of_shards == pytest.approx(of_copies, rel=1e-4)
    assert sum("validation/bleu" in line for line in log(tmp_path / "shards")) == 2
