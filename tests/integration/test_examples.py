"""The scripts of examples/ run in seconds and print what they promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

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


def test_train_and_translate(tmp_path: Path) -> None:
    output = example("train_and_translate.py", tmp_path)
    assert "translation:" in output
    assert "nats" in output
    assert "▁The" in output  # a column of the attention weights


def test_compare_architectures(tmp_path: Path) -> None:
    output = example("compare_architectures.py", tmp_path)
    assert "3 runs, 1 token stream" in output
    assert "lm4mt" in output.splitlines()[-1]


def test_own_parts(tmp_path: Path) -> None:
    output = example("own_parts/train.py", tmp_path)
    assert "gradient norm" in output
    assert "bag_of_words" in output
    assert len(list((tmp_path / "runs" / "own_parts").rglob("result.json"))) == 3
