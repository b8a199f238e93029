"""``--help``: every key that a command takes and no other, with values, in 80 columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import triptych
from omegaconf import OmegaConf

from triptych.config.catalog import options_of
from triptych.config.conf_folder import conf_dir
from triptych.config.schema import Evaluate, Export, Score, Translate
from triptych.config.suggestions import all_keys

SCHEMAS = {"translate": Translate, "evaluate": Evaluate, "score": Score, "export": Export}


def shown(tmp_path: Path, *arguments: str) -> str:
    done = triptych(*arguments, "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("command", ["train", *SCHEMAS])
@pytest.mark.parametrize("columns", [60, 80])
def test_it_fits(command: str, columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert max(map(len, shown(tmp_path, command).splitlines())) <= columns


@pytest.mark.parametrize("command", SCHEMAS)
def test_it_has_what_the_command_takes_and_nothing_else(command: str, tmp_path: Path) -> None:
    text = shown(tmp_path, command)
    keys = {match.split(".")[0] for match in re.findall(r"^  ([a-z_]+)(?=[=.])", text, re.MULTILINE)}
    groups = set(re.findall(r"^([a-z]+)=\S+:", text, re.MULTILINE))
    assert keys | groups == {*SCHEMAS[command].__dataclass_fields__}
    assert groups == {"translate": {"search"}, "evaluate": {"search", "metric"}}.get(command, set())


def test_the_runs_own_search_is_not_shown_with_other_values(tiny_run: Path) -> None:
    text = shown(tiny_run, "translate")
    assert "search.length_penalty " in text
    assert "0.6" not in text.partition("Keys:")[2]
    assert "with the length penalty that was tuned" in " ".join(text.split())
    assert "search.max_length_extra=5" in shown(tiny_run, "translate", "run=runs/tiny")
    assert "run=…" in text


def test_several_values_are_shown_of_a_key_that_the_command_has(tmp_path: Path) -> None:
    for command, key in (("train", "seed=1,2"), ("translate", "search.beam_size=1,4"), ("export", "run=A,B")):
        assert f"such as {key}," in " ".join(shown(tmp_path, command).split())


def test_training_shows_every_key_with_the_value_that_it_has(tmp_path: Path) -> None:
    text = shown(tmp_path, "train", "scale=smoke", "model=rnn_luong", "seed=7")
    config = OmegaConf.load(conf_dir() / "train.yaml")
    assert not [
        key for key in all_keys(config) if f"  {key}" not in text and key.split(".")[0] not in ("hydra", "defaults")
    ]
    for expected in ("seed=7", "model.score=scaled_dot", "budget.steps=20", "model.input_feeding=false"):
        assert f"  {expected}" in text
    for group in ("model", "optimizer", "scale"):
        assert not [one.name for one in options_of(group, [conf_dir()]) if f"  {one.name} " not in text]
    assert "pre | post" in shown(tmp_path, "train")
    assert "lacks it" in triptych("train", "tokenizer=char", "tokenizer.bpe_dropout=1", "-h", cwd=tmp_path).stderr
