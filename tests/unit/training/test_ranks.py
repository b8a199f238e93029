"""How the other ranks of a training are started, and what a training leaves in its process."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import pytest
from lightning.fabric.strategies.launchers.subprocess_script import _basic_subprocess_cmd

from triptych.config.composition import compose_run
from triptych.config.search_path import with_own_folders
from triptych.training.distributed import RANKS, is_rank_zero, ranks_started_by
from triptych.training.fitting import command_of
from triptych.training.starter import STARTER


def test_ranks_run_triptych_whatever_this_process_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    argv, spec = ["script.py", "--mine"], sys.modules["__main__"].__spec__
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setenv("MASTER_ADDR", "elsewhere")
    for name in ("LOCAL_RANK", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with suppress(KeyboardInterrupt), ranks_started_by(["train", "seed=1"]):
        assert list(_basic_subprocess_cmd()) == [sys.executable, "-m", "triptych.__main__", "train", "seed=1"]
        assert os.environ[STARTER] == str(os.getpid())
        os.environ |= {"LOCAL_RANK": "0", "MASTER_PORT": "1234", "MASTER_ADDR": "127.0.0.1"}  # as Lightning does
        raise KeyboardInterrupt
    assert sys.argv is argv
    assert sys.modules["__main__"].__spec__ is spec
    assert os.environ["MASTER_ADDR"] == "elsewhere"
    assert not {"LOCAL_RANK", "MASTER_PORT", STARTER} & {*os.environ}


def test_the_command_of_a_run_is_that_of_one_run(tmp_path: os.PathLike[str]) -> None:
    with with_own_folders([tmp_path]):
        run_config = compose_run(["scale=smoke", "seed=3"])
        assert command_of(run_config) == [
            "train",
            "scale=smoke",
            "seed=3",
            "hydra.mode=RUN",
            f"--config-dir={tmp_path}",
        ]


def test_the_first_rank_is_known_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in RANKS:
        monkeypatch.delenv(name, raising=False)
    assert is_rank_zero()
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.setenv("RANK", "4")
    assert not is_rank_zero()
