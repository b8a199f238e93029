"""Cores that a process may use, and threads that sleep while they wait."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from triptych.accounting import threads
from triptych.accounting.threads import available_cores


@pytest.mark.parametrize(
    ("system", "given", "quota", "expected"),
    [
        (8, "", None, 8),
        (8, "3", None, 3),
        (2, "16", None, 2),
        (8, "", "250000 100000", 2),
        (8, "", "max 100000", 8),
        (8, "", "50000 100000", 1),
        (8, "4,2", None, 8),  # threads of nested regions: no plain number
    ],
)
def test_cores(
    system: int, given: str, quota: str | None, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "_cores_of_system", lambda: system)
    monkeypatch.setenv(threads.THREADS, given)
    monkeypatch.setattr(threads, "CPU_QUOTA", tmp_path / "cpu.max")
    if quota is not None:
        (tmp_path / "cpu.max").write_text(f"{quota}\n")
    assert available_cores() == expected


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="macOS binds no process to cores")
def test_cores_are_those_that_the_process_may_run_on() -> None:
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert available_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, "1000"),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, "None"),
        ({"GOMP_SPINCOUNT": "5"}, "5"),
    ],
)
def test_the_command_line_chooses_how_threads_wait_before_torch_is_there(chosen: dict[str, str], expected: str) -> None:
    """OpenMP reads the environment once, when torch is imported."""
    program = (
        "import os, sys; from triptych import __main__ as program\n"
        "program.main = lambda: print(os.environ.get('GOMP_SPINCOUNT'), 'torch' in sys.modules)\n"
        "program.run()"
    )
    variables = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    environment = {key: value for key, value in os.environ.items() if key not in variables}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment | chosen, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [expected, "False"]
