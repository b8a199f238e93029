"""A disk that is full, read-only or gone: one sentence names the place, and the same command completes later."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from triptych.api import train
from triptych.config.explanations import explain
from triptych.errors import UserError
from triptych.files import replacing
from triptych.runs.checkpoints import find_damage

TRAIN = ["train", "scale=smoke", "budget.steps=60", "validation.every=5", "name=x", "data.train=500", "data.test=60"]
TRAIN += ["tokenizer.vocab_size=600", "output=disk/runs", "cache=disk/cache"]
MOMENTS: dict[str, Callable[[Path], object]] = {
    "before anything is written": lambda disk: True,
    "while text is encoded": lambda disk: [*disk.glob("cache/tokenizers/*")],
    "while it trains": lambda disk: (disk / "runs/x/checkpoints/last.ckpt").exists(),
    "while it translates": lambda disk: (disk / "runs/x/trained.json").exists(),
}


def test_an_error_without_a_name_gets_that_of_the_place(tmp_path: Path) -> None:
    place = tmp_path / "outer"
    with pytest.raises(OSError) as full, replacing(place) as outer, replacing(outer / "inner"):  # noqa: PT011
        raise OSError(28, "No space left on device")
    assert full.value.filename == str(place / "inner")
    said = explain(full.value)
    assert said == f"{place / 'inner'}: no space left on device; make room there, or give another place."


def test_a_folder_in_the_place_of_a_file_is_named_itself(tmp_path: Path) -> None:
    """The name of the temporary file beside it was said."""
    (tmp_path / "result.json").mkdir()
    with pytest.raises(OSError, match=r"result\.json") as refused, replacing(tmp_path / "result.json") as beside:
        beside.write_text("{}")
    assert refused.value.filename == str(tmp_path / "result.json")
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_an_error_that_is_of_no_disk_keeps_what_it_says(tmp_path: Path) -> None:
    with pytest.raises(ConnectionRefusedError) as refused, replacing(tmp_path / "x"):
        raise ConnectionRefusedError(111, "Connection refused")
    assert refused.value.filename is None


def test_a_log_that_cannot_be_closed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error hid the one before it, which had a name."""

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("triptych.training.run.close_loggers", refuse)
    small = ["scale=smoke", "budget.steps=1", "validation.every=1", "data.train=100", "test=false", "name=x"]
    with pytest.raises(UserError, match=rf"^{tmp_path}/runs/x: no space left on device; make room there"):
        train(*small, f"output={tmp_path}/runs", f"cache={tmp_path}/cache")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 40 MB that can be filled."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(folder)]
    if os.getuid() or not shutil.which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a disk can only be mounted by root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "triptych", *TRAIN],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def fill(disk: Path) -> None:
    """Leave no byte."""
    for size in (2**16, 2**9):
        try:
            with (disk / f"filler{size}").open("wb", buffering=0) as file:
                while file.write(b"0" * size):
                    pass
        except OSError:
            pass


def stopped_at(moment: str, disk: Path, happens: Callable[[], object]) -> str:
    """Let something happen at a moment of a training; return the sentence that it ends with."""
    process = start(disk.parent)
    while not MOMENTS[moment](disk) and process.poll() is None:
        time.sleep(0.005)
    happens()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2, said
    assert "Traceback" not in said
    assert not list(disk.rglob(".*.????????")), "unfinished files"
    sentence = said.strip().splitlines()[-1]
    assert "disk/runs" in sentence or "disk/cache" in sentence
    return sentence


def completes(disk: Path, whole: Path) -> None:
    """The same command ends as one that nothing happened to."""
    if (checkpoints := disk / "runs/x/checkpoints").exists():
        assert not [damage for path in checkpoints.glob("*.ckpt") if (damage := find_damage(path))]
    assert start(disk.parent).wait() == 0
    one, other = (json.loads((place / "runs/x/result.json").read_text()) for place in (disk, whole))
    assert one["validation"] == other["validation"]
    assert one["data"] == other["data"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    assert start(folder).wait() == 0
    return folder / "disk"


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_full_disk(moment: str, disk: Path, whole: Path) -> None:
    assert "no space left on device; make room there" in stopped_at(moment, disk, lambda: fill(disk))
    for filler in disk.glob("filler*"):
        filler.unlink()
    completes(disk, whole)


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["while it trains", "while it translates"])
def test_a_folder_that_vanishes(moment: str, disk: Path, whole: Path) -> None:
    runs = disk / "runs"
    stopped_at(moment, disk, lambda: runs.rename(disk / "gone"))
    shutil.rmtree(runs, ignore_errors=True)
    (disk / "gone").rename(runs)
    completes(disk, whole)


@pytest.mark.slow
def test_a_folder_that_cannot_be_written(disk: Path, whole: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert "cannot be written" in stopped_at("before anything is written", disk, lambda: None)
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    completes(disk, whole)
