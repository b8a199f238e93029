"""Two processes at the same time: of one cache, of one run, and of one sweep."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SMALL = ["scale=smoke", "budget.steps=5", "data.train=2000", "data.test=4", "data.test_long=4", "cache=cache"]


def together(folder: Path, *commands: list[str]) -> list[tuple[int, str]]:
    """Start commands at once; return the status and the messages of each."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "triptych", "train", *SMALL, *command],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        for command in commands
    ]
    said = [process.communicate(timeout=120)[0] for process in started]
    return [(process.returncode, text) for process, text in zip(started, said, strict=True)]


@pytest.mark.slow
def test_one_cache(tmp_path: Path) -> None:
    """Both need the same tokenizer and the same ids: one makes them, and both train on them."""
    ended = together(tmp_path, ["output=a", "name=x"], ["output=b", "name=x"])
    assert [status for status, _ in ended] == [0, 0], ended
    one, other = (json.loads((tmp_path / place / "x" / "result.json").read_text()) for place in "ab")
    assert one["data"] == other["data"]
    assert one["validation"] == other["validation"]
    assert len([*tmp_path.glob("cache/stores/[!.]*")]) == len([*tmp_path.glob("cache/tokenizers/[!.]*")]) == 1
    assert not list((tmp_path / "cache").rglob(".*.????????")), "unfinished files"


@pytest.mark.slow
def test_one_run(tmp_path: Path) -> None:
    """The second finds it finished, or is told that another process trains it."""
    ended = together(tmp_path, ["name=x"], ["name=x"])
    assert sorted(status for status, _ in ended) in ([0, 0], [0, 2])
    assert all("another process trains" in text for status, text in ended if status)
    assert (tmp_path / "runs" / "x" / "result.json").exists()


@pytest.mark.slow
def test_one_sweep(tmp_path: Path) -> None:
    """Each arm is trained once, by either process, and both wait until all are finished."""
    arms = ["-m", "seed=1,2,3", "jobs=1"]
    ended = together(tmp_path, arms, arms)
    assert [status for status, _ in ended] == [0, 0], ended
    assert sum(text.count("model: ") for _, text in ended) == 3, "each arm once"
    assert len([*tmp_path.glob("runs/*/result.json")]) == 3
