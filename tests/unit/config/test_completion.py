"""What completion offers: commands, keys, options and folders, of the options that the line has chosen."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, triptych

from triptych.commands.cli import COMMANDS
from triptych.config.completion import FLAGS, completions
from triptych.config.keys import Key, allowed_values, config_file, keys_of_file
from triptych.config.suggestions import all_keys


def offered(line: str) -> list[str]:
    return completions(line.split(" "), COMMANDS)


def test_keys_follow_what_the_line_has_chosen() -> None:
    assert offered("tr") == ["train", "translate"]
    assert offered("train mod") == ["model=", "model."]
    assert "model.num_heads=" in offered("train model.")
    assert "model.input_feeding=" not in offered("train model.")
    assert offered("train model=rnn_luong model.inp") == ["model.input_feeding="]
    assert offered("train model.norm_position=") == ["model.norm_position=pre", "model.norm_position=post"]
    assert offered("train model=hybrid model.enc") == ["model.encoder."]
    assert offered("train optimizer.schedule.p") == ["optimizer.schedule.peak="]
    assert "search.stop=" in offered("evaluate search.")


def test_options_also_in_lists_in_folders_and_of_the_users_own() -> None:
    assert offered("train model=lm4mt_") == ["model=lm4mt_article", "model=lm4mt_base", "model=lm4mt_tiny"]
    assert offered("train -m metric=[bleu,ch") == ["metric=[bleu,chrf", "metric=[bleu,chrfpp"]
    assert offered("train model=rnn,lm4mt_b") == ["model=rnn,lm4mt_base"]
    assert offered("evaluate search=") == ["search=run", "search=beam", "search=greedy"]
    assert "model/encoder=rnn" in offered("train model/encoder=r")
    assert "model=rnn" not in offered("train model/encoder=r")
    assert "arm=table3/base" in offered("train arm=table3/b")
    own = ROOT / "examples" / "own_parts" / "conf"
    for given in (f"--config-dir={own}", f"--config-dir {own}"):
        assert offered(f"train {given} model=bag") == ["model=bag_of_words"]
    assert offered("list stu") == ["studies"]


def test_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs" / "one").mkdir(parents=True)
    (tmp_path / "runs" / "one" / "run.json").touch()
    (tmp_path / "runs" / "sweep").mkdir()
    (tmp_path / "runs" / ".hidden").mkdir()
    (tmp_path / "text.en").touch()
    for name in ("$(touch x)", "two words", "`x`", "a;b"):  # which a shell would not take as they are
        (tmp_path / "runs" / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert offered("translate run=") == ["run=runs/"]
    assert offered("translate run=runs/") == ["run=runs/one", "run=runs/sweep/"]
    assert offered("translate run=demo:trans") == ["run=demo:transformer"]
    assert offered("translate input=") == ["input=runs/", "input=text.en"]
    assert offered("report ru") == ["runs/"]
    assert offered(f"evaluate run={tmp_path}/runs/o") == [f"run={tmp_path}/runs/one"]
    assert offered("translate run=nowhere/") == []


def test_options_of_each_command() -> None:
    forecast = ["--device", "--measure", "--speeds", "--pairs", "--price", "-m", "--config-dir", "--help"]
    assert offered("report --") == ["--add", "--all", "--keep", "--methods", "--unequal", "--help"]
    assert offered("forecast -") == forecast
    assert offered("train --c") == offered("translate --c") == ["--config-dir"]
    assert offered("list --") == ["--help"]
    assert offered("dashboard experiment=fai") == ["experiment=fair"]
    assert offered("dashboard x=t") == ["x=tokens"]


def test_folders_behind_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept").mkdir()
    monkeypatch.chdir(tmp_path)
    assert offered("report runs --keep=k") == ["--keep=kept/"]
    assert offered("report runs --keep k") == ["kept/"]
    assert offered("train init=k") == ["init=kept/"]


@pytest.mark.parametrize(
    ("value", "comment", "allowed"),
    [
        ("pre", "pre | post", ["pre", "post"]),
        ("loss", "what makes a checkpoint the best: loss | bleu", ["loss", "bleu"]),
        ("none", "none | decoder: as the output | three_way: and the source", ["none", "decoder", "three_way"]),
        ("32-true", "32-true | bf16-mixed (faster)", ["32-true", "bf16-mixed"]),
        ("true", "whatever", ["true", "false"]),
        ("3", "layers; null: all", []),
    ],
)
def test_values_that_a_comment_allows(value: str, comment: str, allowed: list[str]) -> None:
    assert allowed_values(Key("key", value, comment)) == allowed


@pytest.mark.parametrize("command", ["train", "translate", "evaluate", "score", "export"])
def test_the_text_of_a_file_gives_the_keys_that_yaml_gives(command: str) -> None:
    from omegaconf import DictConfig, OmegaConf

    config = OmegaConf.load(config_file(command))
    assert isinstance(config, DictConfig)
    expected = [key for key in all_keys(config) if not key.startswith(("hydra", "defaults"))]
    assert [key.name for key in keys_of_file(config_file(command))] == expected


def test_comments_go_on_in_the_lines_below(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        "# Of the file.\nsection:   # of it\n  one: 1   # first\n           # and more\n  # above\n  two: '#'\n"
    )
    assert keys_of_file(path) == [
        Key("section", "", "of it"),
        Key("section.one", "1", "first and more"),
        Key("section.two", "'#'", "above"),
    ]


@pytest.mark.parametrize("command", FLAGS)
def test_the_options_of_a_command_are_those_that_it_has(command: str, tmp_path: Path) -> None:
    shown = triptych(command, "--help", cwd=tmp_path).stdout
    assert sorted(re.findall(r"^  (--[\w-]+)", shown, re.MULTILINE)) == sorted(FLAGS[command])


def test_nothing_slow_is_imported() -> None:
    code = (
        "import sys; from triptych.commands.cli import main\n"
        "sys.argv = ['triptych', 'completion', 'words', 'train', '']; main()\n"
        "sys.exit(str({'torch', 'hydra', 'omegaconf', 'pandas', 'numpy', 'rich'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "set()"
    assert "model=" in done.stdout.splitlines()
