"""A signal that arrives in a destructor still ends the program."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys, time
from triptych.commands.boundary import guarded

class Swallowing:
    def __del__(self):
        os.kill(os.getpid(), signal.{name})
        time.sleep(0.01)

def work():
    Swallowing()
    time.sleep(20)
    return 0

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(guarded(work))
"""


@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_in_a_destructor(name: str, status: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(name=name)], capture_output=True, text=True, timeout=15, check=False
    )
    assert (done.returncode, done.stderr) == (status, "")


@pytest.mark.parametrize(("raised", "shown"), [("ValueError('mine')", "ValueError: mine"), ("SystemExit(3)", "3")])
def test_other_exceptions_of_destructors_are_shown(raised: str, shown: str) -> None:
    program = PROGRAM.format(name="SIGINT").replace("os.kill(os.getpid(), signal.SIGINT)", f"raise {raised}")
    done = subprocess.run(
        [sys.executable, "-c", program.replace("time.sleep(20)", "pass")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert shown in done.stderr
