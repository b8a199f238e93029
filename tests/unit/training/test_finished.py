"""A run that is finished is kept as it is: another name, or another logger, comes too late, and training says so."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from triptych.config.composition import compose_run
from triptych.runs.folder import RunFolder
from triptych.training.finished import late_overrides, warn_of_late


@pytest.mark.parametrize(
    ("first", "again", "late"),
    [
        ([], ["name=other"], ["name=other"]),
        (["name=first"], ["seed=1"], []),
        (["name=first"], ["name=first", "logger=wandb"], ["logger=wandb"]),
        ([], ["name=folder"], []),
        (["logger=wandb"], ["logger=wandb", "logger.wandb.project=x"], ["logger=wandb", "logger.wandb.project=x"]),
        (["logger=wandb"], ["logger=wandb", "jobs=1"], []),
        (["logger=wandb"], [], []),
        ([], ["study.margin=3", "seed=1"], ["study.margin=3"]),
        (["study.margin=3"], ["study.margin=3"], []),
    ],
)
def test_late_overrides(first: list[str], again: list[str], late: list[str], tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "folder")
    folder.path.mkdir()
    OmegaConf.save(compose_run(["scale=smoke", *first]).config, folder.config)
    assert late_overrides(folder, compose_run(["scale=smoke", *again])) == late


def test_a_damaged_configuration_costs_no_more(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("{", encoding="utf-8")
    assert late_overrides(RunFolder(tmp_path), compose_run(["scale=smoke", "name=other"])) == []


def test_the_warning_names_each_override_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("triptych"), "propagate", True)
    warn_of_late([])
    warn_of_late(["logger=wandb", "name=x", "logger=wandb"])
    assert {*caplog.messages} == {"no effect on a finished run, which is kept as it is: logger=wandb, name=x."}
