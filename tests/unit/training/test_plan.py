"""Where a run's folder lies, and what it is called."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from triptych.config.composition import compose_run
from triptych.errors import UserError
from triptych.runs.folder import RunFolder, write_record
from triptych.runs.identity import config_hash
from triptych.training import plan as planning
from triptych.training.plan import RunPlan, plan_run
from triptych.training.run import _make_folder


@pytest.fixture(autouse=True)
def some_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans need the fingerprint of the text alone."""
    monkeypatch.setattr(planning, "instantiate", lambda _: SimpleNamespace(fingerprint="text"))


def plan(output: Path, *overrides: str, label: str | None = None) -> RunPlan:
    return plan_run(compose_run(["scale=smoke", f"output={output}", *overrides]), label=label)


def test_a_run_is_called_by_model_data_and_hash(tmp_path: Path) -> None:
    planned = plan(tmp_path, "model=lm4mt")
    assert planned.folder.path == tmp_path / f"lm4mt-toy-{planned.config_hash}"
    assert not planned.folder.path.exists()


def test_names_and_labels(tmp_path: Path) -> None:
    assert plan(tmp_path, "name=mine").folder.path.name == "mine"
    assert plan(tmp_path, label="lm4mt-seed_2").folder.path.name == "lm4mt-seed_2"
    assert plan(tmp_path, "name=mine", label="seed_2").folder.path.name == "mine-seed_2"
    (tmp_path / "seed_2").mkdir()
    assert re.fullmatch(r"seed_2-[0-9a-f]{8}", plan(tmp_path, label="seed_2").folder.path.name)
    with pytest.raises(UserError, match="name=a=b is no plain name"):
        plan(tmp_path, "name='a=b'")


def test_a_run_is_found_by_what_it_computes(tmp_path: Path) -> None:
    _make_folder(plan(tmp_path, "name=first"))
    assert plan(tmp_path, "name=second").folder.path.name == "first"
    assert plan(tmp_path, label="seed_2").folder.path.name == "first"
    with pytest.raises(UserError, match="first is another run"):
        plan(tmp_path, "name=first", "seed=2")


def test_a_run_that_its_devices_identified_is_found(tmp_path: Path) -> None:
    """Earlier states of 0.3.0 hashed them."""
    devices = "strategy=ddp", "strategy.precision=32-true"
    today = plan(tmp_path, *devices)
    earlier = config_hash(today.run_config.config, "text", with_devices=True)
    assert earlier != today.config_hash
    _make_folder(replace(today, config_hash=earlier, folder=RunFolder(tmp_path / "old")))
    found = plan(tmp_path, *devices)
    assert (found.folder.path.name, found.config_hash) == ("old", earlier)


def test_of_two_runs_of_one_name_that_start_together_one_is_refused(tmp_path: Path) -> None:
    one, other = plan(tmp_path, "name=both"), plan(tmp_path, "name=both", "seed=2")
    _make_folder(one)
    _make_folder(one)  # as often as the run is started
    with pytest.raises(UserError, match="both is another run"):
        _make_folder(other)


def test_a_folder_appears_with_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan(tmp_path)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("triptych.training.run.write_record", killed)
    with pytest.raises(KeyboardInterrupt):
        _make_folder(planned)
    assert not planned.folder.path.exists()
    monkeypatch.setattr("triptych.training.run.write_record", write_record)
    _make_folder(planned)
    assert planned.folder.record.exists()
