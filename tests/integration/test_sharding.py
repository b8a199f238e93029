"""Sharded training (FSDP2): two processes that share the weights train the model that copies of it would train."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from small_trainings import CPUS, log, stream, train, train_and_terminate, weights

SIMPLE = ("transformer", "rnn", "rnn_luong", "lm4mt", "convs2s")
MODELS = {name: [f"model={name}", "model.dropout=0"] for name in SIMPLE}
for part in ("rnn", "recurrent_blocks"):
    halves = [f"model/{half}={part}" for half in ("encoder", "decoder")]
    MODELS[f"hybrid of {part}"] = ["model=hybrid", *halves, "model.encoder.dropout=0", "model.decoder.dropout=0"]
# Rounding may turn a unit of ReLU on or off, and its gradient with it.
MODELS["transformer"] += ["model.activation=gelu"]
MODELS["lm4mt"] += ["model.activation=gelu"]
MODELS["hybrid of recurrent_blocks"] += ["model.encoder.activation=gelu", "model.decoder.activation=gelu"]

# Adam divides by the root of the second moment: with a small eps, rounding grows where gradients are small.
SETTINGS = [*CPUS, "batch.accumulate=2", "optimizer.optimizer.eps=1e-2"]


def test_when_interrupted_it_trains_as_copies_do(tmp_path: Path) -> None:
    settings = [*SETTINGS, *MODELS["lm4mt"], "budget.steps=20", "validation.every=10"]
    train(tmp_path / "copies", "strategy=ddp", *settings)
    train_and_terminate(tmp_path / "stopped", "strategy=fsdp", *settings, after=6)
    train(tmp_path / "stopped", "strategy=fsdp", *settings)

    assert stream(tmp_path / "copies") == stream(tmp_path / "stopped")
    copies, stopped = (weights(tmp_path / folder) for folder in ("copies", "stopped"))
    torch.testing.assert_close(stopped, copies, rtol=1e-5, atol=1e-6)
    assert sum("validation/bleu" in line for line in log(tmp_path / "stopped")) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_it_trains_as_copies_do_and_goes_on_exactly(name: str, tmp_path: Path) -> None:
    settings = [*SETTINGS, *MODELS[name]]
    train(tmp_path / "copies", "strategy=ddp", *settings)
    train(tmp_path / "shards", "strategy=fsdp", *settings)
    train_and_terminate(tmp_path / "stopped", "strategy=fsdp", *settings, after=6)
    train(tmp_path / "stopped", "strategy=fsdp", *settings)

    assert stream(tmp_path / "copies") == stream(tmp_path / "shards") == stream(tmp_path / "stopped")
    copies, shards, stopped = (weights(tmp_path / folder) for folder in ("copies", "shards", "stopped"))
    torch.testing.assert_close(shards, copies, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(stopped, shards, rtol=0, atol=0)
    assert log(tmp_path / "stopped") == log(tmp_path / "shards")
    for of_shards, of_copies in zip(log(tmp_path / "shards"), log(tmp_path / "copies"), strict=True):
        assert of_shards == pytest.approx(of_copies, rel=1e-4)
    assert sum("validation/bleu" in line for line in log(tmp_path / "shards")) == 2
