"""A sweep on joined sentences: trained, evaluated on one length, reported, and reported again from what was kept."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from conftest import triptych

import triptych as api

TINY = ["scale=smoke", "budget.steps=2", "validation.every=2", "data.train=200", "tokenizer.vocab_size=400"]
TINY += ["data.validation=8", "data.test=8", "data.test_long=4", "search.beam_size=1"]


@pytest.mark.slow
def test_a_sweep_on_joined_sentences(tmp_path: Path) -> None:
    arms = "arm=bottleneck/rnn_none,bottleneck/rnn_luong"
    command = ["train", "-m", "experiment=bottleneck", *TINY, arms, "seed=1,2", "jobs=1", "output=runs"]
    done = triptych(*command, f"cache={tmp_path / 'cache'}", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    run = sorted(path.parent for path in (tmp_path / "runs").glob("*/result.json"))[0]
    loaded = api.load(run)
    stored = loaded.result["test"]
    assert [(name, scores["sentences"]) for name, scores in stored.items() if "long" not in name] == [
        ("test.x1", 8),
        ("test.x2", 4),
        ("test.x3", 3),
        ("test.x4", 2),
    ]
    again = api.evaluate(run, split="test.x4")
    assert again["nats_per_word"] == stored["test.x4"]["nats_per_word"]
    assert again["bleu"] == stored["test.x4"]["bleu"]
    for place in ("runs", "kept"):
        options = ["--keep", "kept"] if place == "runs" else []
        reported = triptych("report", place, *options, cwd=tmp_path)
        assert reported.returncode == 0, reported.stderr
    with (tmp_path / "kept" / "report.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert {"test.x1/nats_per_word", "test.x4/nats_per_word", "test_long.x2/bleu"} <= {*lines[0]}
    page = (tmp_path / "kept" / "report.md").read_text()
    claim = "Attention is worth more the longer the sentence (rnn_luong against rnn_none)"
    row = next(line for line in page.splitlines() if line.startswith(f"| {claim} |"))
    assert "[" in row, "the interaction has an interval"
    assert "test.x4 minus test.x1 (nats a word)" in page
    assert "not run" in page, "the Transformer was left out"
