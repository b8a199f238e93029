"""Hybrids, chosen by YAML alone, train, translate, count their FLOPs and show their attention."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import random_batch

from triptych.commands import cli
from triptych.runs.run import load


@pytest.mark.parametrize(
    ("encoder", "decoder", "names"),
    [
        ("rnn", "transformer", ["decoder", "cross"]),
        pytest.param("transformer", "rnn", ["encoder", "cross"], marks=pytest.mark.slow),
        pytest.param("convs2s", "rnn", ["cross"], marks=pytest.mark.slow),
    ],
)
def test_a_hybrid_is_trained_and_translates(
    encoder: str, decoder: str, names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    choice = ["model=hybrid", f"model/encoder={encoder}", f"model/decoder={decoder}"]
    monkeypatch.setattr("sys.argv", ["triptych", "train", *choice, "scale=smoke", "cache=cache"])
    assert cli.main() == 0
    (run,) = Path("runs").glob("[!.]*")
    result = json.loads((run / "result.json").read_text())
    assert result["train"]["flops"] > 0
    trained = load(run)
    assert len(trained.translate(["The dog sleeps.", "The cat sleeps."])) == 2
    assert [one.name for one in trained.model.attention_maps(random_batch([(3, 4)]))] == names


@pytest.mark.slow
def test_a_matched_hybrid_is_loaded_with_its_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "sys.argv", ["triptych", "train", "arm=concepts/feed_forward", "match=parameters", "scale=smoke", "cache=cache"]
    )
    assert cli.main() == 0
    (run,) = Path("runs").glob("[!.]*")
    trained = load(run)
    sizes = {trained.config.model[part].hidden_size for part in ("encoder", "decoder")}
    assert len(sizes) == 1
    assert sizes != {32}, "that of the scale"
    assert len(trained.translate(["The dog sleeps."])) == 1
    monkeypatch.setattr("sys.argv", [*sys.argv, "search.beam_size=1", "name=greedy"])
    assert cli.main() == 0
    shared = load("runs/greedy")
    assert shared.result["weights_of"] == run.name, "another search trains nothing"
    assert shared.config.model == trained.config.model


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["model/encoder=cnn"],
            "model/encoder=cnn is unknown; choose one of convs2s, recurrent_blocks, rnn, transformer.",
        ),
        (["model.encoder.hidden_size=wide"], "model.encoder.hidden_size=wide must be an integer."),
        (["model.decoder.layers=3"], "model.decoder.layers is no configuration key"),
        (["model.decoder.d_model=64"], "embed a token with 32 and 64 features"),
        (["~model.decoder.d_ff"], "d_ff"),
    ],
)
def test_mistakes_are_named(
    overrides: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["triptych", "train", "model=hybrid", "scale=smoke", "cache=cache", *overrides])
    assert cli.main() == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert message in said
