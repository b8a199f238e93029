"""Trainings with a cooldown go on from each other's trunk, and end like trainings from scratch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from conftest import triptych

from triptych.training import fitting

SHARED = [
    *("scale=smoke", "cache=cache", "model=transformer", "model.dropout=0.1", "optimizer=cooldown"),
    *("batch.accumulate=2", "validation.every=4", "log_every=1", "checkpoint.average=2", "tokenizer.bpe_dropout=0.1"),
]
TIMES = ["train/tokens_per_second"]
OWN = ("other_cores", "seconds", "tokens_per_second", "mfu", "peak_memory_bytes", "trunk")
"""What two equal trainings differ in."""


def train(cwd: Path, steps: int, output: str) -> str:
    done = triptych("train", *SHARED, f"budget.steps={steps}", f"name=s{steps}", f"output={output}", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def result(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "result.json").read_text())


def checkpoint(folder: Path, name: str) -> dict[str, Any]:
    return torch.load(folder / "checkpoints" / f"{name}.ckpt", weights_only=True)


def assert_same(one: Any, other: Any) -> None:
    """Compare nested values; tensors bit for bit."""
    assert type(one) is type(other)
    if isinstance(one, torch.Tensor):
        assert torch.equal(one, other)
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for key, value in one.items():
            assert_same(value, other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            assert_same(left, right)
    else:
        assert one == other


@pytest.mark.slow
def test_a_branch_ends_like_a_training_from_scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three budgets in a chain, the last one cut off where it left the trunk, against the last one alone."""
    assert "steps are those of" not in train(tmp_path, 10, "chain")
    assert "the first 8 steps are those of s10" in train(tmp_path, 20, "chain")
    with monkeypatch.context() as patched:
        patched.setattr(fitting, "fit", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        arguments = [*SHARED, "budget.steps=40", "name=s40", "output=chain"]
        assert triptych("train", *arguments, cwd=tmp_path).returncode == 130
    assert "going on from step 16" in train(tmp_path, 40, "chain")
    train(tmp_path, 40, "alone")
    branch, whole = tmp_path / "chain" / "s40", tmp_path / "alone" / "s40"
    ours, theirs = result(branch), result(whole)
    assert ours["train"]["trunk"] == {"run": "s20", "steps": 16}
    assert "trunk" not in theirs["train"]
    for key in ("data", "model", "validation", "training_hash"):
        assert ours[key] == theirs[key], key
    for name, scores in theirs["test"].items():
        assert {**ours["test"][name], "seconds": 0} == {**scores, "seconds": 0}
    costs = [{key: value for key, value in one["train"].items() if key not in OWN} for one in (ours, theirs)]
    assert costs[0] == costs[1]
    last, alone = checkpoint(branch, "last"), checkpoint(whole, "last")
    for key in ("state_dict", "optimizer_states", "lr_schedulers", "random", "data_seen", "global_step"):
        assert_same(last[key], alone[key])
    kept = sorted(path.stem for path in (whole / "checkpoints").iterdir())
    assert sorted(path.stem for path in (branch / "checkpoints").iterdir()) == kept
    for name in kept:
        assert_same(checkpoint(branch, name)["state_dict"], checkpoint(whole, name)["state_dict"])
    logs = [pd.read_csv(folder / "metrics.csv").drop(columns=TIMES) for folder in (branch, whole)]
    pd.testing.assert_frame_equal(*logs, check_exact=True)
