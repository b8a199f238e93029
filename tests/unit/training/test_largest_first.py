"""The largest batches are tried first: memory that does not suffice is named, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import triptych

from triptych.data.batching import Stream
from triptych.training.callbacks.largest_first import LargestFirst
from triptych.training.loss import LossParts, TranslationLoss

SMALL = ["train", "scale=smoke", "budget.steps=3", "log_every=1", "cache=cache", "model.dropout=0.3"]
SMALL += ["data.train=300", "tokenizer.vocab_size=420", "data.validation=3", "test=false", "name=x"]


def test_they_are_those_with_most_tokens_and_with_the_longest_pairs() -> None:
    lengths = np.array([[30, 30], [8, 9], [8, 9], [8, 9], [8, 9], [2, 3], [2, 3]], np.int32)
    stream = Stream(lengths, tokens=40, seed=1, size=1)
    found = sorted(lengths[rows].tolist() for rows in stream.largest())
    assert found == [[[8, 9]] * 4, [[30, 30]]]


def test_too_little_memory_names_the_batch_before_the_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(*_: Any, **__: Any) -> LossParts:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")

    monkeypatch.setattr(TranslationLoss, "forward", short)
    done = triptych(*SMALL, cwd=tmp_path)
    assert done.returncode == 2
    assert "memory was short in a batch of" in done.stderr
    assert "source and" in done.stderr
    assert "lower batch.tokens, and raise batch.accumulate" in done.stderr
    assert not list(tmp_path.glob("runs/x/checkpoints/*"))


def test_the_training_is_as_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def losses(output: str) -> list[str]:
        assert triptych(*SMALL, f"output={output}", cwd=tmp_path).returncode == 0
        table = (tmp_path / output / "x" / "metrics.csv").read_text().splitlines()
        column = table[0].split(",").index("train/loss")
        return [line.split(",")[column] for line in table[1:]]

    tried = []
    original = LargestFirst.on_train_start
    monkeypatch.setattr(LargestFirst, "on_train_start", lambda *given: tried.append(original(*given)))
    with_it = losses("with")
    monkeypatch.setattr(LargestFirst, "on_train_start", lambda *_: None)
    assert with_it == losses("without")
    assert len(tried) == 1
