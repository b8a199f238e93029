"""What a run's folder says of it, and how runs are found beside each other."""

from __future__ import annotations

import errno
import json
import os
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import triptych
from triptych.config.composition import register_settings_of
from triptych.errors import UserError
from triptych.runs.folder import FORMAT, RunFolder, RunRecord, find_run, find_trained, read_record, write_record
from triptych.runs.locks import RunLocked, run_lock
from triptych.runs.versions import versions

RECORD = RunRecord(FORMAT, triptych.__version__, "a", "a", ("seed=1",), "0123abcd", "89abcdef", versions())


def made(path: Path, record: RunRecord = RECORD, source: str | None = None) -> RunFolder:
    """Write a run that has been trained, by the code of a hash."""
    folder = RunFolder(path)
    folder.checkpoints.mkdir(parents=True)
    (folder.checkpoints / "best.ckpt").touch()
    write_record(folder, record)
    by = {**versions(), **({"source": source} if source else {})}
    folder.trained.write_text(json.dumps({"versions": by}))
    return folder


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_record(made(tmp_path / "a")) == RECORD


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "is no run folder"),
        ({"config.yaml": "seed: 1"}, "was made by triptych 0.1, whose runs this version cannot load"),
        ({"config.yaml": "seed: 1", "result.json": '{"version": "0.1.7"}'}, "was made by triptych 0.1.7"),
        ({"config.yaml": "seed: 1", "result.json": "{"}, "was made by triptych 0.1, "),
        ({"run.json": json.dumps({**asdict(RECORD), "format": 9, "version": "3.0"})}, "was made by triptych 3.0"),
        ({"run.json": "{"}, "run.json cannot be read"),
        ({"run.json": '{"format": 2}'}, "run.json cannot be read"),
        ({"run.json": "[]"}, "run.json cannot be read"),
    ],
)
def test_what_cannot_be_loaded_is_refused_in_one_sentence(files: dict[str, str], words: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for load in (lambda: read_record(RunFolder(tmp_path)), lambda: triptych.load(tmp_path)):
        with pytest.raises(UserError) as refused:
            load()
        assert words in str(refused.value)
        assert len(str(refused.value).splitlines()) == 1
    if "config.yaml" in files:
        with pytest.raises(UserError, match=r"was made by triptych 0\.1"):
            register_settings_of([f"run={tmp_path}"])


def test_runs_that_cannot_be_read_are_no_obstacle_to_others(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    made(tmp_path / "other", replace(RECORD, config_hash="ffffffff"))
    run = made(tmp_path / "run")
    assert find_run(tmp_path, "0123abcd") == run
    assert find_run(tmp_path, "aaaaaaaa") is None


def test_weights_are_shared_by_the_code_that_ended_the_training(tmp_path: Path) -> None:
    mine = RunFolder(tmp_path / "mine")
    made(tmp_path / "old", source="0" * 16)
    assert find_trained(mine, RECORD.training_hash) is None
    started = replace(RECORD, versions={**versions(), "source": "0" * 16})
    resumed = made(tmp_path / "resumed", started)
    assert find_trained(mine, RECORD.training_hash) == resumed
    assert find_trained(mine, "aaaaaaaa") is None
    assert find_trained(resumed, RECORD.training_hash) is None, "a run does not share its own weights"


def test_a_locked_run_is_named(tmp_path: Path) -> None:
    with ExitStack() as stack:
        stack.enter_context(run_lock(tmp_path / "run", "x"))
        with pytest.raises(RunLocked, match=r"another process trains .*run; wait for it"):
            stack.enter_context(run_lock(tmp_path / "run", "x"))
    with run_lock(tmp_path / "run", "x"):
        pass


@pytest.mark.parametrize("says", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_refused(says: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two machines that share it could train one run at a time."""

    def flock(*_: object) -> None:
        raise OSError(says, os.strerror(says))

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(UserError, match="keeps no locks"), run_lock(tmp_path / "run", "x"):
        pass
