"""The scripts of ``triptych completion`` in real shells on a terminal: what the TAB key writes."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from conftest import ROOT, triptych

SHELLS = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}
SECONDS = 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one run, and a command ``triptych`` that is this code."""
    (tmp_path / "runs" / "first").mkdir(parents=True)
    (tmp_path / "runs" / "first" / "run.json").touch()
    command = tmp_path / "bin" / "triptych"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m triptych "$@"\n')
    command.chmod(0o755)
    return tmp_path


class Terminal:
    """An interactive shell with triptych's completion."""

    def __init__(self, shell: str, folder: Path) -> None:
        environment = {
            **os.environ,
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            "TERM": "dumb",
            "HOME": str(folder),
        }
        self.ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (24, 300))  # one line, which is never scrolled
        self.process = subprocess.Popen(
            SHELLS[shell],
            cwd=folder,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        self.type(f'eval "$(triptych completion {shell})"; echo rea""dy\n', "ready")

    def type(self, keys: str, wanted: str) -> str:
        """Type keys, and return what the terminal shows until ``wanted`` is there, or for some seconds."""
        os.write(self.ours, keys.encode())
        found, deadline = "", time.monotonic() + SECONDS
        while wanted not in found and time.monotonic() < deadline:
            if select.select([self.ours], [], [], 0.1)[0]:
                found += os.read(self.ours, 4096).decode(errors="replace").replace("\x07", "")  # the bell
        return found

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.ours)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_tab_completes(shell: str, folder: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    terminal = Terminal(shell, folder)
    try:
        for keys, wanted in (
            ("triptych forec\t", "forecast "),
            ("model=transformer_bi\t", "transformer_big "),
            ("model.norm_pos\t", "model.norm_position="),
            ("pr\t", "pre "),
            ("search@val\t", "@validation.search="),
            ("gr\t", "greedy "),
            ("\x15triptych translate run=ru\t", "runs/"),
            ("\t", "first "),
            ("\x15triptych report --meth\t", "ods "),
            ("--al\t", "l "),
            ("--ke\t", "ep "),
            ("ru\t", "ns/"),
            ("\x15triptych forecast --sp\t", "eeds "),
        ):
            assert wanted in (shown := terminal.type(keys, wanted)), shown
    finally:
        terminal.close()


def test_other_shells_are_refused(tmp_path: Path) -> None:
    done = triptych("completion", "fish", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "triptych: there is no completion for fish; choose one of bash, zsh.\n",
    )
    assert 'eval "$(triptych completion bash)"' in triptych("completion", "--help", cwd=tmp_path).stdout
