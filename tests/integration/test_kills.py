"""Trainings that are killed, some in the middle of a save, go on to the very same end."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

TRAIN = ["train", "scale=smoke", "budget.steps=60", "validation.every=4", "log_every=3", "cache=../cache", "name=x"]
TRAIN += ["data.train=500", "tokenizer.vocab_size=600", "test=false", "checkpoint.average=3"]
CPUS = ["strategy.accelerator=cpu", "strategy.precision=32-true", "strategy.workers=0"]
TRAININGS = {
    "rnn": ["model=rnn", "tokenizer.bpe_dropout=0.1"],
    "transformer": ["model=transformer", "strategy.workers=2"],
    "lm4mt": ["model=lm4mt", "loss=decayed"],
    "convs2s": ["model=convs2s", "batch.accumulate=2"],
    "hybrid": ["model=hybrid", "strategy.workers=2", "batch.accumulate=2"],
    "two processes": ["strategy=ddp", *CPUS],
    "sharded": ["strategy=fsdp", *CPUS],
}


def start(folder: Path, name: str) -> subprocess.Popen[bytes]:
    parts = ("model.encoder", "model.decoder") if name == "hybrid" else ("model",)
    folder.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "triptych", *TRAIN, *TRAININGS[name], *(f"{part}.dropout=0.1" for part in parts)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def end_of(folder: Path) -> tuple[object, ...]:
    """What a training left: weights, averaged weights, the stream of batches, every line of the log.

    The log tells whether a resumed training validates when the other does, over the whole set, and at the same rates:
    traps of Lightning's own (its issues 19549 and 20277, say).
    """
    run = folder / "runs" / "x"
    result = json.loads((run / "result.json").read_text())
    states = [
        torch.load(run / "checkpoints" / f"{name}.ckpt", weights_only=True)["state_dict"]
        for name in ("last", "best", "averaged")
    ]
    header, *rows = [line.split(",") for line in (run / "metrics.csv").read_text().splitlines()]
    speeds = [i for i, name in enumerate(header) if "per_second" in name]
    log = [[cell for i, cell in enumerate(row) if i not in speeds] for row in rows]
    weights = [{name: tensor.numpy().tobytes() for name, tensor in state.items()} for state in states]
    return weights, result["data"]["token_stream"], result["validation"], log


def kill_during_a_save(process: subprocess.Popen[bytes], folder: Path, number: int) -> bool:
    """Kill a training while it writes the checkpoint of this number; return whether it was caught at it."""
    checkpoints, seen, now = folder / "runs" / "x" / "checkpoints", 0, False
    while process.poll() is None:
        names = os.listdir(checkpoints) if checkpoints.is_dir() else []
        before, now = now, any(name.startswith(".last") for name in names)
        seen += now and not before
        if seen >= number:
            process.kill()
            process.wait()
            return any(name.startswith(".") for name in os.listdir(checkpoints))
    return False


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("name", TRAININGS)
def test_six_kills_of_each_training(name: str, tmp_path: Path) -> None:
    began = time.monotonic()
    assert start(tmp_path / "whole", name).wait() == 0
    lasted, draw, caught, whole = time.monotonic() - began, random.Random(name), 0, end_of(tmp_path / "whole")
    for number in range(6):
        folder = tmp_path / str(number)
        process = start(folder, name)
        if number < 3:
            time.sleep(lasted * draw.uniform(0.3, 0.95))
            process.send_signal(signal.SIGKILL)
            process.wait()
        else:
            caught += kill_during_a_save(process, folder, draw.randint(2, 10))
        assert start(folder, name).wait() == 0
        assert end_of(folder) == whole, f"kill {number} of {name}"
        assert not list((folder / "runs").rglob(".*.????????")), "unfinished files"
    assert caught, "no kill was in the middle of a save"
