"""``triptych translate`` as a process: a pipe that stays open, a terminal, files, a closed input."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import triptych

COMMAND = [sys.executable, "-m", "triptych", "translate", "run=runs/tiny", "search=greedy", "device=cpu"]
SECONDS = 60
"""How long a process may take to load and to answer, on a busy machine."""


@contextmanager
def started(folder: Path, *more: str, **streams: Any) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TERM": "dumb"}
    process = subprocess.Popen([*COMMAND, *more], cwd=folder, env=environment, **streams)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def read_until(descriptor: int, wanted: str) -> str:
    """Return what a process writes until a text comes; what came so far if it does not come."""
    found, deadline = "", time.monotonic() + SECONDS
    while wanted not in found and time.monotonic() < deadline:
        if select.select([descriptor], [], [], 0.1)[0]:
            found += os.read(descriptor, 4096).decode()
    return found


def test_a_line_goes_out_while_the_pipe_is_open(tiny_run: Path) -> None:
    lines = ["The dog sleeps.", "", "The cat eats the bread."]
    expected = triptych("translate", *COMMAND[4:], cwd=tiny_run, stdin="\n".join(lines)).stdout.split("\n")
    with started(tiny_run, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line, translation in zip(lines, expected, strict=False):
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()
            assert read_until(process.stdout.fileno(), "\n") == f"{translation}\n"
        process.stdin.write(b"no line feed \xc3")
        process.stdin.close()
        assert process.wait(SECONDS) == 2


def test_a_terminal_gets_a_prompt(tiny_run: Path) -> None:
    ours, theirs = pty.openpty()
    with started(tiny_run, "scores=true", stdin=theirs, stdout=theirs, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said = read_until(process.stderr.fileno(), "ends.")
        assert "runs/tiny: en to fr, beam 1." in said
        assert read_until(ours, "en> ") == "en> "
        for number in ("1", "2"):
            os.write(ours, b"The dog sleeps.\n")
            assert f"\n{number}\t-" in read_until(ours, "\nen> ")
        os.write(ours, b"\x04")
        assert process.wait(SECONDS) == 0


def test_a_closed_input_is_named(tiny_run: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" "$@" <&-', *COMMAND], cwd=tiny_run, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "triptych: standard input is closed; give input=FILE, or text through a pipe.\n"


def test_files_give_what_the_pipe_gives(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triptych.decoding.line_groups.GROUP_LINES", 2)
    text = "The dog sleeps.\n\nThe cat eats the bread.\n"
    source = tmp_path / "a=b, c.en"
    source.write_text(text)
    arguments = ["translate", *COMMAND[4:]]
    piped = triptych(*arguments, cwd=tiny_run, stdin=text)
    assert triptych(*arguments, f"input='{source}'", cwd=tiny_run).stdout == piped.stdout
    target = tmp_path / "new" / "out.fr"
    done = triptych(*arguments, f"input='{source}'", f"output={target}", cwd=tiny_run)
    assert (done.returncode, done.stdout, target.read_text()) == (0, "", piped.stdout)
    scored = triptych(*arguments, "scores=true", f"input='{source}'", cwd=tiny_run).stdout
    assert [line.split("\t")[0] for line in scored.splitlines()] == ["1", "2", "3"]
    source.write_bytes(b"The dog.\n\xff\n")
    failed = triptych(*arguments, f"input='{source}'", f"output={target}", cwd=tiny_run)
    assert failed.returncode == 2
    assert "c.en:2 has bytes that are not UTF-8" in failed.stderr
    assert target.read_text() == piped.stdout, "an output that is not complete leaves the old one"
    assert [path.name for path in target.parent.iterdir()] == ["out.fr"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["input=nothing.en"], "input=nothing.en: there is no such file"),
        (["input=runs"], "input=runs: it is a folder"),
        (["output=runs"], "output=runs is a folder"),
        (["output=/dev/null/out.fr"], "/dev/null"),
    ],
)
def test_files_that_cannot_be_used_are_named_before_the_model_is_loaded(
    tiny_run: Path, given: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("triptych.runs.run.load", lambda *arguments: pytest.fail("loaded"))
    done = triptych("translate", *COMMAND[4:], *given, cwd=tiny_run)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
