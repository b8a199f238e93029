"""The CPU benchmark's parts do not disturb each other."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import cpu


class Idle(SimpleNamespace):
    """A worker that does nothing."""

    def turn(self) -> dict[str, float]:
        return {}

    def __enter__(self) -> Idle:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_no_training_finds_the_finished_run_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders: list[Path] = []

    def train_in_turns(arm: str, output: Path, *_: Any) -> Idle:
        folders.append(output)
        return Idle()

    monkeypatch.setattr("benchmarks.cpu.ours.train_in_turns", train_in_turns)
    monkeypatch.setattr("benchmarks.cpu.joeynmt.parameters", lambda log: 1)
    monkeypatch.setattr("benchmarks.cpu.take_turns", lambda *_: {})
    monkeypatch.setattr("benchmarks.cpu.Bench._finish", lambda *_: {})
    peer = SimpleNamespace(train=lambda *_: Idle(log=[]))
    setting: Any = SimpleNamespace(runs=tmp_path, options=lambda _: [], joeynmt=peer)
    bench = cpu.Bench(setting, cpu.WHOLE)
    for arm in cpu.WHOLE.trained:
        bench.measure(arm)
    assert len(folders) == len(set(folders)) == len(cpu.PRECISIONS) * (len(cpu.WHOLE.trained) + 1)
