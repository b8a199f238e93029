"""`logger=wandb` needs no account, and its file, read back with W&B's own reader, holds what the dashboard shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import triptych_process
from offline_wandb import Record, configured, environment, history, read_back

from triptych.training import loggers


def train(folder: Path, *arguments: str) -> list[tuple[Path, list[Record]]]:
    """The file of each run, and what it holds."""
    variables = {name: value for name, value in environment(folder).items() if name != "WANDB_MODE"}
    small = ["scale=smoke", "cache=cache", "model=lm4mt", "loss=decayed", "budget.steps=6", "validation.every=3"]
    done = triptych_process("train", "logger=wandb", "log_every=1", *small, *arguments, cwd=folder, env=variables)
    assert done.returncode == 0, done.stderr
    paths = sorted((folder / "runs").glob("*/wandb/offline-run-*/*.wandb"))
    return [(path, read_back(path, variables)) for path in paths]


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Record]]:
    (run,) = train(tmp_path_factory.mktemp("run"))
    return run


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, list[Record]]]:
    """Two arms, of which one is scored with the weights of the other."""
    return train(tmp_path_factory.mktemp("sweep"), "-m", "search.beam_size=1,2")


@pytest.mark.slow
def test_the_arms_of_a_sweep_are_one_group(sweep: list[tuple[Path, list[Record]]]) -> None:
    first, second = sweep
    assert first[0].parents[2] != second[0].parents[2], "every run of a sweep has a file of its own"
    (group,) = {record["run"]["run_group"] for _, records in sweep for record in records if "run" in record}
    assert group.startswith("runs-")
    assert [configured(records)["arm"].split()[-1] for _, records in sweep] == [
        "search.beam_size=1",
        "search.beam_size=2",
    ]


@pytest.mark.slow
def test_an_arm_with_the_weights_of_another_is_on_the_dashboard(sweep: list[tuple[Path, list[Record]]]) -> None:
    (trained, _), (_, records) = sweep
    assert configured(records)["weights_of"] == trained.parents[2].name
    assert len(history(records)["test/bleu"]) == 1


def test_the_file_holds_the_config(logged: tuple[Path, list[Record]]) -> None:
    config = configured(logged[1])
    assert config["model"]["_target_"] == "triptych.models.lm4mt.LM4MT"
    assert config["loss"]["autoencode"]["alpha"] == 0.1
    assert config["seed"] == 1


def test_the_file_holds_the_history(logged: tuple[Path, list[Record]]) -> None:
    values = history(logged[1])
    assert len(values["train/loss"]) == 6
    assert values["train/lambda"][0] == 1.0
    assert values["train/lambda"] == sorted(values["train/lambda"], reverse=True)
    assert all(rate > 0 for rate in values["train/lr"])
    assert all(speed > 0 for speed in values["train/tokens_per_second"])
    assert len(values["validation/bleu"]) == len(values["validation/loss"]) == 2
    assert len(values["test/bleu"]) == 1


def test_the_file_holds_translations(logged: tuple[Path, list[Record]]) -> None:
    path, records = logged
    named = history(records)["validation/samples.path"]
    tables = [json.loads((path.parent / "files" / name).read_text()) for name in named]
    assert len(tables) == 2
    assert tables[0]["columns"] == ["source", "reference", "translation"]
    assert all(isinstance(text, str) for row in tables[0]["data"] for text in row)
    assert tables[0]["data"][0][0] == tables[1]["data"][0][0]


def test_a_run_that_goes_on_continues_its_dashboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wandb.login", lambda **_: False)
    told: dict[str, Any] = {"save_dir": str(tmp_path), "project": "p", "entity": None, "group": "g", "tags": []}
    told |= {"job_type": "a", "log_checkpoint": False}
    first, again = (loggers.wandb_logger(**told) for _ in range(2))
    assert first.version == again.version is not None
