"""The scripts of examples/ run in seconds and print what they promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from conftest import triptych as command_line

EXAMPLES = ROOT / "examples"


def example(name: str, folder: Path) -> str:
    """The output of a script that ran in a folder of its own."""
    script = [sys.executable, str(EXAMPLES / name), f"cache={folder / 'cache'}"]
    done = subprocess.run(script, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("script", EXAMPLES.rglob("*.py"), ids=lambda script: script.name)
def test_scripts_are_short(script: Path) -> None:
    if script.name != "own_parts.py":  # a module: a model needs its methods
        assert len(script.read_text(encoding="utf-8").splitlines()) <= 40


@pytest.mark.slow
def test_train_and_translate(tmp_path: Path) -> None:
    output = example("train_and_translate.py", tmp_path)
    assert "translation:" in output
    assert "nats" in output
    assert "▁The" in output  # a column of the attention weights


@pytest.mark.slow
def test_compare_architectures(tmp_path: Path) -> None:
    output = example("compare_architectures.py", tmp_path)
    assert "3 runs, 1 token stream" in output
    assert "lm4mt" in output.splitlines()[-1]


def test_tune_with_optuna(tmp_path: Path) -> None:
    pytest.importorskip("optuna", reason="the extra 'tuning' is not installed")
    output = example("tune_with_optuna.py", tmp_path)
    losses = [float(line.split()[-1]) for line in output.splitlines() if line.startswith("trial")]
    assert len(losses) == 4
    assert float(output.splitlines()[-1].split()[-1]) == pytest.approx(min(losses), abs=1e-4)


@pytest.mark.slow
def test_own_parts(tmp_path: Path) -> None:
    output = example("own_parts/train.py", tmp_path)
    assert "gradient norm" in output
    assert "length ratio" in output
    assert "bag_of_words" in output
    assert (tmp_path / "runs" / "own_parts" / "bag" / "result.json").exists()


@pytest.mark.parametrize("config_dir", [["--config-dir", "conf"], ["--config-dir=conf"]], ids=["word", "equals"])
def test_own_parts_by_command_line(config_dir: list[str], tmp_path: Path) -> None:
    models = ["-m", "model=bag_of_words,rnn_none", "callbacks=[gradient_norm]"]
    where = ["scale=smoke", f"output={tmp_path / 'runs'}", f"cache={tmp_path / 'cache'}"]
    done = command_line("train", *config_dir, *models, *where, cwd=EXAMPLES / "own_parts")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("gradient norm") == 8  # every 5 of 20 steps, of two models
    assert len(list((tmp_path / "runs").rglob("result.json"))) == 2
