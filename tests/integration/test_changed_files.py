"""A run whose files have changed since they were written is neither reported, nor loaded, nor trained on."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import triptych
from triptych.errors import UserError
from triptych.reports.build import report
from triptych.runs.checkpoints import newest_state
from triptych.runs.demo import FOLDER
from triptych.runs.folder import RunFolder
from triptych.runs.result_file import read_trained


@pytest.fixture
def run(tiny_run: Path, tmp_path: Path) -> Path:
    """A copy of a finished run."""
    return Path(shutil.copytree(tiny_run / "runs" / "tiny", tmp_path / "runs" / "tiny"))


def edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


EDITS: dict[str, Callable[[dict[str, Any]], None]] = {
    "flops": lambda result: result["train"].update(flops=result["train"]["flops"] / 2),
    "seconds": lambda result: result["train"].update(seconds=0.5),
    "steps": lambda result: result["train"].update(steps=3),
    "parameters": lambda result: result["model"].update(parameters=1000),
    "cut_share": lambda result: next(iter(result["test"].values())).update(cut_share=0.0123),
}


@pytest.mark.parametrize("figure", EDITS)
def test_a_report_refuses_an_edited_figure(run: Path, figure: str) -> None:
    report(run)
    edit(run / "result.json", EDITS[figure])
    with pytest.raises(UserError, match="has changed since it was written: its figures are not those"):
        report(run)
    with pytest.raises(UserError, match=r"result\.json cannot be read \(its figures are not those that were written\)"):
        _ = triptych.Run(run).result


def test_what_was_trained_cannot_be_edited(run: Path) -> None:
    edit(run / "trained.json", EDITS["flops"])
    with pytest.raises(
        UserError, match=r"trained\.json cannot be read \(its figures are not those that were written\)"
    ):
        read_trained(RunFolder(run))


def test_a_report_refuses_a_log_that_has_changed_and_says_that_one_is_gone(
    run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    metrics = run / "metrics.csv"
    metrics.write_text(metrics.read_text().replace("1", "2"))
    with pytest.raises(UserError, match=r"has changed since it was written: its metrics\.csv is not the one"):
        report(run)
    metrics.unlink()
    report(run)
    assert f"{metrics} is gone: the report lacks the run's curve, and whether it converged." in caplog.messages
    text = run / "translations" / "test.txt"
    text.unlink()
    report(run)
    assert caplog.messages.count(f"{text} is gone: the report lacks what follows from it.") == 1


def test_an_edited_configuration_is_refused(run: Path) -> None:
    config = run / "config.yaml"
    config.write_text(re.sub(r"beam_size: \d+", "beam_size: 3", config.read_text()))
    with pytest.raises(UserError, match=r"its config\.yaml is not the one that it was trained with"):
        report(run)
    with pytest.raises(UserError, match=r"config\.yaml cannot be read \(it is not the one that the run was trained"):
        triptych.load(run)


def test_weights_of_another_training_do_not_translate(run: Path) -> None:
    """Those of the same model and tokenizer alone would."""
    best = run / "checkpoints" / "best.ckpt"
    content = torch.load(best, weights_only=True)
    content["state_dict"] = {name: value + 0.01 for name, value in content["state_dict"].items()}
    torch.save(content, best)
    with pytest.raises(UserError, match=r"best\.ckpt cannot be read \(it is not the one that was written\)"):
        triptych.load(run)


def test_exported_weights_that_have_changed_do_not_translate(tmp_path: Path) -> None:
    run = Path(shutil.copytree(FOLDER / "rnn_bahdanau", tmp_path / "run"))
    (weights,) = (run / "checkpoints").iterdir()
    data = bytearray(weights.read_bytes())
    data[len(data) // 2] ^= 0xFF
    weights.write_bytes(data)
    with pytest.raises(UserError, match=r"safetensors cannot be read \(it is not the one that was written\)"):
        triptych.load(run)


def test_training_does_not_go_on_from_another_training(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.checkpoints.mkdir()
    torch.save({"training_hash": "a"}, folder.last)
    assert newest_state(folder, "a") == folder.last
    with pytest.raises(UserError, match=r"last\.ckpt is of another training; put the run's own checkpoints back, or "):
        newest_state(folder, "b")
    torch.save({"global_step": 3}, folder.last)  # of an earlier version
    assert newest_state(folder, "b") == folder.last


def test_checkpoints_name_their_training(run: Path) -> None:
    state = torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)
    assert state["training_hash"] == json.loads((run / "run.json").read_text())["training_hash"]


@pytest.mark.parametrize("name", ["demo:rnn_bahdanau", f"{FOLDER}/../demo/rnn_bahdanau"])
def test_the_demo_runs_stay_as_they_came(name: str) -> None:
    before = sorted(FOLDER.rglob("*"))
    assert triptych.evaluate(name, "suite_items=2", split="suites")
    assert sorted(FOLDER.rglob("*")) == before
