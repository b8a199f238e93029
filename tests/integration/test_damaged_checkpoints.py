"""A checkpoint whose bytes have changed is noticed: training goes on from the one before, translation is refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import torch
from conftest import triptych

from triptych.runs.checkpoints import find_damage, newest_state
from triptych.runs.folder import RunFolder
from triptych.training.callbacks.checkpoints import AtomicCheckpoints

TINY = ["scale=smoke", "cache=cache", "budget.steps=40", "validation.every=5", "model.dropout=0.1", "log_every=5"]


def flip(path: Path, offset: int) -> None:
    """Change one byte of a file."""
    data = bytearray(path.read_bytes())
    data[offset] ^= 0xFF
    path.write_bytes(data)


def tensor_bytes(path: Path) -> int:
    """Return an offset in the middle of a checkpoint, which is some tensor's."""
    return path.stat().st_size // 2


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an uninterrupted run, ``whole``, and the same one that was killed after two saves, ``cut``."""
    home = tmp_path_factory.mktemp("trained")
    assert triptych("train", *TINY, "output=whole", "name=run", cwd=home).returncode == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "triptych", "train", *TINY, "output=cut", "name=run"],
        cwd=home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    previous, deadline = home / "cut" / "run" / "checkpoints" / "previous.ckpt", time.monotonic() + 120
    while not previous.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=60)
    assert not (home / "cut" / "run" / "result.json").exists()
    return home


@pytest.mark.slow
def test_training_goes_on_from_the_state_before_a_damaged_one(interrupted: Path, tmp_path: Path) -> None:
    shutil.copytree(interrupted / "cut", tmp_path / "cut")
    shutil.copytree(interrupted / "cache", tmp_path / "cache")
    last = tmp_path / "cut" / "run" / "checkpoints" / "last.ckpt"
    flip(last, tensor_bytes(last))
    done = triptych("train", *TINY, "output=cut", "name=run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "last.ckpt is damaged (the checksum of " in done.stdout + done.stderr
    whole, cut = (
        json.loads((folder / "run" / "result.json").read_text()) for folder in (interrupted / "whole", last.parents[2])
    )
    assert cut["validation"]["loss"] == whole["validation"]["loss"]
    assert cut["data"]["token_stream"] == whole["data"]["token_stream"]
    states = [
        torch.load(home / "run" / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]
        for home in (interrupted / "whole", tmp_path / "cut")
    ]
    assert all(torch.equal(tensor, states[1][name]) for name, tensor in states[0].items())
    assert not last.with_name("previous.ckpt").exists(), "a finished run needs no state to go on from"


@pytest.mark.slow
def test_two_damaged_states_are_refused(interrupted: Path, tmp_path: Path) -> None:
    shutil.copytree(interrupted / "cut", tmp_path / "cut")
    for path in (tmp_path / "cut" / "run" / "checkpoints").glob("*.ckpt"):
        path.write_bytes(path.read_bytes()[:-100])
    done = triptych("train", *TINY, "output=cut", "name=run", f"cache={interrupted / 'cache'}", cwd=tmp_path)
    assert done.returncode == 2
    assert "last.ckpt is damaged; delete " in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_damaged_weights_do_not_translate(interrupted: Path, tmp_path: Path) -> None:
    shutil.copytree(interrupted / "whole", tmp_path / "whole")
    best = tmp_path / "whole" / "run" / "checkpoints" / "best.ckpt"
    flip(best, tensor_bytes(best))
    done = triptych("translate", "run=whole/run", cwd=tmp_path, stdin="The cat sleeps.\n")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "best.ckpt is damaged (the checksum of " in done.stderr


def test_damage_is_found_wherever_a_tensor_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "state.ckpt"
    torch.save({"state_dict": {"a": torch.arange(5000.0), "b": torch.ones(3)}, "global_step": 7}, path)
    assert find_damage(path) is None
    for offset in range(1500, 20000, 997):  # the records of a, from behind the pickle on
        flip(path, offset)
        assert find_damage(path) is not None
        flip(path, offset)
    directory = path.read_bytes().rindex(b"PK\x01\x02")  # the last entry of the archive's directory
    for offset in (directory + 8, directory + 10):  # its flags, one of which says that it is encrypted, and its method
        flip(path, offset)
        assert find_damage(path) is not None
        flip(path, offset)
    path.write_bytes(b"")
    assert find_damage(path) is not None


def test_a_checkpoint_is_written_where_it_belongs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by way of the folder for temporary files, which may be full."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    folder = RunFolder(tmp_path / "run")
    for step in (1, 2):
        AtomicCheckpoints().save_checkpoint({"global_step": step}, folder.last)
    assert newest_state(folder, "a") == folder.last
    assert [torch.load(path)["global_step"] for path in (folder.last, folder.previous)] == [2, 1]
    assert len(list(folder.checkpoints.iterdir())) == 2
