"""A signal at any moment ends a training within seconds, and the same command completes it with nothing left over."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import triptych

RUN = ["train", "scale=smoke", "budget.steps=60", "validation.every=20", "cache=cache", "search.max_length_extra=20"]
RUN += ["data.train=500", "tokenizer.vocab_size=600", "data.test=60", "data.validation=20", "data.test_long=20"]
SWEEP = [*RUN, "-m", "model=rnn,transformer", "jobs=1"]
SECONDS = 10


def start(folder: Path, arguments: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "triptych", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def results(folder: Path) -> dict[str, object]:
    """What was trained and scored, without what depends on the machine's speed."""
    found = {}
    for path in sorted((folder / "runs").glob("*/result.json")):
        result = json.loads(path.read_text())
        tests = {
            name: {key: value for key, value in one.items() if key != "seconds"} for name, one in result["test"].items()
        }
        found[path.parent.name] = (result["validation"], tests, result["data"]["token_stream"])
    return found


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("arguments", [RUN, SWEEP], ids=["run", "sweep"])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_it_ends_and_the_same_command_completes_it(
    number: signal.Signals, status: int, arguments: list[str], tmp_path: Path
) -> None:
    """Fifteen moments, evenly spread over the whole of an undisturbed training and a little jittered."""
    (tmp_path / "whole").mkdir()
    began = time.monotonic()
    assert start(tmp_path / "whole", arguments).wait() == 0
    lasted, draw = time.monotonic() - began, random.Random(25)
    for moment in range(15):
        folder = tmp_path / str(moment)
        folder.mkdir()
        process = start(folder, arguments)
        time.sleep(lasted * (moment + draw.random()) / 15)
        process.send_signal(number)
        sent = time.monotonic()
        said, _ = process.communicate(timeout=60)
        assert time.monotonic() - sent < SECONDS, said
        assert process.returncode in (status, 0, -number), said  # 0: it had ended; -number: before it listened
        assert "Traceback" not in said
        assert not [path for path in folder.rglob(".*.????????") if path.is_file()], "unfinished files"
        assert start(folder, arguments).wait() == 0
        assert results(folder) == results(tmp_path / "whole")


@pytest.mark.parametrize(
    "phase", [pytest.param("data.store.prepare", marks=pytest.mark.slow), "training.scoring.evaluate_split"]
)
def test_ctrl_c_before_and_after_training_loses_nothing(
    phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = ["train", "scale=smoke", "budget.steps=1", "cache=cache", "name=x", "data.train=300", "metric=[bleu]"]
    small += ["tokenizer.vocab_size=420", "data.test=2", "data.validation=2", "data.test_long=2"]

    def interrupted(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    with monkeypatch.context() as patched:
        patched.setattr(f"triptych.{phase}", interrupted)
        done = triptych(*small, cwd=tmp_path)
        assert done.returncode == 130, done.stderr
    assert triptych(*small, cwd=tmp_path).returncode == 0


@pytest.mark.slow
def test_a_rank_does_not_outlive_the_first_one_that_is_killed_before_they_are_connected(tmp_path: Path) -> None:
    ranks = ["strategy=ddp", "strategy.accelerator=cpu", "strategy.precision=32-true", "strategy.workers=0"]
    with start(tmp_path, [*RUN, *ranks]) as first:
        assert first.stdout is not None
        assert any(line.startswith("run: ") for line in first.stdout)
        time.sleep(1)  # the other rank is started, and imports the libraries
        first.kill()
        first.communicate(timeout=3 * SECONDS)  # until no process keeps the pipe; it waited half an hour
