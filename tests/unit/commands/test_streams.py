"""Standard output that is closed, full or unread: a result is never lost with status 0, and nothing is a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TRANSLATE = "$T translate run=demo:rnn_bahdanau input=text.txt"
CLOSED = "triptych: standard output is closed, so the result would be lost; leave out >&-, or give > FILE.\n"
FULL = "triptych: standard output: no space left on device; make room there, or give another place.\n"


def ended(line: str, folder: Path, **environment: str) -> tuple[int, str]:
    """Return the status of a shell's command line, in which ``$T`` is triptych, and what it has written to stderr."""
    others = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    command = f"{sys.executable} -m triptych"
    ran = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**others, "T": command, "OMP_NUM_THREADS": "1", **environment},
    )
    return ran.returncode, ran.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text("the dog sees a cat .\n")
    return tmp_path


@pytest.mark.parametrize("command", ["$T --help", "$T list models", TRANSLATE, "$T score", "$T evaluate", "$T demo x"])
def test_a_closed_standard_output_is_refused_before_anything_is_computed(command: str, folder: Path) -> None:
    assert ended(f"{command} >&-", folder) == (2, CLOSED)
    assert ended(f"{command} >&- 2>&- <&-", folder) == (2, "")
    assert sorted(folder.iterdir()) == [folder / "text.txt"]


def test_a_result_in_a_file_needs_no_standard_output(folder: Path) -> None:
    assert ended(f"{TRANSLATE} output=found.txt >&- 2>&-", folder) == (0, "")
    assert (folder / "found.txt").read_text().count("\n") == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["$T --help", "$T list models", TRANSLATE])
def test_a_full_device_is_named_once(command: str, unbuffered: str, folder: Path) -> None:
    assert ended(f"{command} > /dev/full", folder, PYTHONUNBUFFERED=unbuffered) == (2, FULL)


@pytest.mark.slow
def test_what_argparse_prints_is_flushed_too(folder: Path) -> None:
    assert ended("$T report --help > /dev/full", folder) == (2, FULL)


@pytest.mark.parametrize("command", ["$T list models", f"{TRANSLATE} 2>&1"])
def test_a_reader_that_leaves_ends_the_command_quietly(command: str, folder: Path) -> None:
    assert ended(f"{command} | true", folder) == (141, "")


def test_another_pipe_that_breaks_is_an_error(folder: Path) -> None:
    fails = "exec('raise BrokenPipeError(32, chr(120))')"
    fails = f"from triptych.commands.boundary import guarded; exit(guarded(lambda: {fails}))"
    assert ended(f'{sys.executable} -c "{fails}" | cat', folder)[0] == 2
