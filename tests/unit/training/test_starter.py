"""A rank ends soon after the process that has started it, also while it waits for a connection."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading

import pytest

from triptych.training import starter
from triptych.training.starter import STARTER, end_with_starter

RANK = """
import time
from triptych.training import starter
starter.INTERVAL = starter.GRACE = 0.1
starter.end_with_starter()
print("watches", flush=True)
time.sleep(60)
"""
LATE_RANK = f"""
import os, sys, time
starter = os.getppid()
print("waits", flush=True)
while os.getppid() == starter:
    time.sleep(0.01)
{RANK}"""
FIRST = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", sys.argv[1]], env={**os.environ, sys.argv[2]: str(os.getpid())})
time.sleep(60)
"""


def test_a_rank_ends_after_its_starter_was_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", FIRST, RANK, STARTER], stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"watches\n"
        first.kill()
        assert select.select([first.stdout], [], [], 10)[0], "the rank still keeps the pipe"
        assert first.stdout.read() == b""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux, to tell an ended process from a running one")
def test_a_rank_that_imports_libraries_while_its_starter_is_killed_ends_too() -> None:
    """It stayed for as long as nobody had asked how the starter had ended."""
    with subprocess.Popen([sys.executable, "-c", FIRST, LATE_RANK, STARTER], stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"waits\n"
        first.kill()  # and not waited for, until the rank has ended
        assert first.stdout.readline() == b"watches\n"
        assert select.select([first.stdout], [], [], 10)[0], "the rank still keeps the pipe"
        assert first.stdout.read() == b""


def test_a_rank_whose_work_is_done_ends_well_though_python_cannot_be_taken_down() -> None:
    ends = "import atexit, os; from triptych.training.starter import end_rank; atexit.register(os.abort)"
    done = subprocess.run(
        [sys.executable, "-c", f"{ends}; print('done'); end_rank()"], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"done\n")


def test_a_process_that_no_rank_has_started_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(STARTER, raising=False)
    monkeypatch.setattr("threading.Thread.start", lambda thread: pytest.fail(f"{thread.name} was started"))
    end_with_starter()


def test_the_processes_of_a_rank_are_no_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STARTER, str(os.getppid()))
    monkeypatch.setattr("threading.Thread.start", lambda thread: None)
    end_with_starter()
    assert STARTER not in os.environ


@pytest.mark.parametrize("has_pidfd", [True, False])
def test_a_rank_behind_a_wrapper_stays_while_its_starter_runs(has_pidfd: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was taken for one whose starter had ended."""
    if not has_pidfd:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    monkeypatch.setattr(starter, "INTERVAL", 0.01)
    monkeypatch.setattr(starter, "GRACE", 0)
    ended = threading.Event()
    monkeypatch.setattr("os._exit", lambda status: ended.set())
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:  # not the parent
        watch = threading.Thread(target=starter._end_after, args=(other.pid,))
        watch.start()
        assert not ended.wait(0.2)
        other.communicate(b"\n")
        watch.join(10)
    assert ended.is_set()
