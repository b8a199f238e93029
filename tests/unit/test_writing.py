"""Where a file is written that the user names: under its name once it is whole, or into an open stream."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import triptych
from triptych.errors import UserError
from triptych.files import remove_abandoned_folders, replacing, writing
from triptych.runs.demo import FOLDER

WRITE = """
import sys
from pathlib import Path
from triptych.files import writing
with writing(Path(sys.argv[1])) as file:
    file.write(b"new\\n")
"""


@pytest.mark.parametrize("keep", [False, True])
def test_a_folder_is_replaced_unless_the_one_that_is_there_is_the_same(tmp_path: Path, *, keep: bool) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "old").touch()
    _replace(tmp_path / "run", keep_folder=keep)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["old" if keep else "new"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_folder_that_cannot_be_replaced_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "old").touch()
    rename = Path.rename

    def fail(path: Path, target: Path) -> Path:
        if (path / "new").exists():
            raise PermissionError(13, "Permission denied")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(PermissionError):
        _replace(tmp_path / "run")
    assert [path.name for path in tmp_path.rglob("*")] == ["run", "old"]


def _replace(folder: Path, *, keep_folder: bool = False) -> None:
    with replacing(folder, keep_folder=keep_folder) as beside:
        beside.mkdir()
        (beside / "new").touch()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no /dev")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_what_stands_in_the_file_behind_a_stream_stays(name: str, tmp_path: Path) -> None:
    """The file was emptied, or what came after overwrote what was written."""
    path = tmp_path / "log"
    path.write_text("old\n")
    with path.open("a") as log:
        for _ in range(2):
            subprocess.run([sys.executable, "-c", WRITE, name], stdout=log, check=True)
    assert path.read_text() == "old\nnew\nnew\n"
    with path.open("w") as log:
        subprocess.run(
            ["sh", "-c", f'echo before; "$0" -c "$1" {name}; echo after', sys.executable, WRITE], stdout=log, check=True
        )
    assert path.read_text() == "before\nnew\nafter\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no /dev")
def test_a_stream_that_is_closed_is_named() -> None:
    done = subprocess.run([sys.executable, "-c", WRITE, "/dev/fd/77"], capture_output=True, text=True)
    assert "/dev/fd/77" in done.stderr.splitlines()[-1]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no links without rights")
def test_a_page_of_attention_goes_where_a_link_leads(tmp_path: Path) -> None:
    """The link was replaced, as a device would have been."""
    (tmp_path / "link.html").symlink_to(tmp_path / "page.html")
    (tmp_path / "page.html").write_text("old")
    page = triptych.load("demo:rnn_bahdanau").attention("A cat.", "Un chat.")
    page.write(tmp_path / "link.html")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "page.html").read_text() == page.html()
    with pytest.raises(UserError, match="is a folder; give the name of a file"):
        page.write(tmp_path)


def test_the_folder_of_a_loaded_run_stays_where_the_working_folder_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run of that relative path answered."""
    shutil.copytree(FOLDER / "transformer", tmp_path / "a" / "run")
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    run = triptych.load("run")
    monkeypatch.chdir(tmp_path / "b")
    assert run.result["run"] == triptych.load("demo:transformer").result["run"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_what_a_killed_process_has_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """It stayed for good."""
    path = tmp_path / "out.fr"
    left, new, other = (tmp_path / f".out.fr.{end}" for end in ("0123abcd", "4567abcd", "notes"))
    for one in (left, new, other):
        one.write_text("half")
    for one in (left, other):
        os.utime(one, (1e9, 1e9))
    with writing(path) as file:
        (held,) = {*tmp_path.glob(".out.fr.*")} - {new, other}
        os.utime(held, (1e9, 1e9))
        with writing(path) as second:
            assert held.exists(), "another process writes it"
            second.write(b"second")
        file.write(b"first")
    assert path.read_text() == "first"
    assert sorted(one.name for one in tmp_path.iterdir()) == [".out.fr.4567abcd", ".out.fr.notes", "out.fr"]


def test_a_folder_that_a_killed_process_has_left_is_removed_after_an_hour(tmp_path: Path) -> None:
    """By its newest file: the process may be writing one while the folder itself is old."""
    left, written, other = (tmp_path / f".export.{end}" for end in ("0123abcd", "4567abcd", "notes"))
    for one in (left, written, other):
        one.mkdir()
        (one / "model.bin").write_text("half")
    for one in (left, left / "model.bin", written, other, other / "model.bin"):
        os.utime(one, (1e9, 1e9))
    remove_abandoned_folders(tmp_path / "export")
    assert sorted(one.name for one in tmp_path.iterdir()) == [".export.4567abcd", ".export.notes"]
