"""The Python API: train, load, evaluate, sweep, report and forecast, and all of them a second time in one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import triptych
from triptych.errors import UserError

SMALL = [
    *("scale=smoke", "cache=cache", "budget.steps=2", "validation.every=2", "log_every=1"),
    *("data.train=200", "data.test=3", "data.test_long=3", "tokenizer.vocab_size=360"),
]
SWEEP = ["model=lm4mt,rnn_luong"]


def call_everything(output: str) -> dict[str, Any]:
    """Call the six functions as a notebook would, and return the figures that do not depend on the clock."""
    run = triptych.train("model=lm4mt", *SMALL, f"output={output}/one")
    assert run.folder.parent == Path(output).absolute() / "one"
    sources = ["The dog sees the cat.", ""]
    translations = run.translate(sources)
    assert translations[1] == ""
    scores = run.score(sources[:1], ["Le chien voit le chat."])
    assert scores[0] < 0
    assert run.attention(sources[:1], ["Le chien voit le chat."])
    assert triptych.load(run.folder).translate(sources) == translations

    again = triptych.evaluate(run, "metric=[bleu]", split="test")
    assert again["bleu"] == run.result["test"]["test"]["bleu"]
    beam = triptych.evaluate(run.folder, "search.beam_size=2", split="test_long")
    assert beam["chrf"] >= 0

    costs = triptych.forecast(*SWEEP, *SMALL, f"output={output}/two")
    runs = triptych.sweep(*SWEEP, *SMALL, f"output={output}/two")
    assert [one.result["model"]["name"] for one in runs] == ["lm4mt", "rnn_luong"]
    assert [one.result["train"]["flops"] for one in runs] == costs["flops"].tolist()
    table = triptych.report(f"{output}/two")
    assert table["label"].tolist() == ["lm4mt", "rnn_luong"]
    assert runs[0].result["validation"] == run.result["validation"], "an arm trains as a run of its own does"
    return {
        "losses": run.metrics["train/loss"].dropna().tolist(),
        "translations": translations,
        "scores": scores,
        "table": table[["parameters", "flops", "validation_perplexity", "test/bleu"]],
        "costs": costs[["parameters", "steps", "tokens", "flops"]],
    }


@pytest.mark.slow
def test_everything_twice_in_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = call_everything("first"), call_everything("second")
    for key in ("table", "costs"):
        pd.testing.assert_frame_equal(first.pop(key), second.pop(key))
    assert first == second
    assert len(first["losses"]) == 2


def test_mistakes_are_one_error_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each, the next call works: nothing of the failed one stays behind."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"did you mean model\.num_layers\?"):
        triptych.train("model=lm4mt", "model.num_layer=3", *SMALL)
    with pytest.raises(UserError, match="model=lm4nt is unknown"):
        triptych.sweep("model=lm4mt,lm4nt", *SMALL)
    with pytest.raises(UserError, match="device abacus is unknown"):
        triptych.forecast(*SMALL, device="abacus")
    with pytest.raises(UserError, match="nowhere"):
        triptych.report("nowhere")
    with pytest.raises(UserError, match="run=nowhere is no run folder"):
        triptych.load("nowhere")
    with pytest.raises(UserError, match="nowhere"):
        triptych.evaluate("nowhere", split="test")
    with pytest.raises(UserError, match="is no folder"):
        triptych.train(*SMALL, config_dir="nowhere")
    assert not list(tmp_path.glob("runs/[!.]*"))
    assert len(triptych.forecast("model=lm4mt", *SMALL)) == 1
