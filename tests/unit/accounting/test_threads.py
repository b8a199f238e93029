"""Cores that a process may use, and those that it leaves to others."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from triptych.accounting import threads
from triptych.accounting.threads import CoreWatch, available_cores, leave_busy_cores


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
    monkeypatch.setattr(threads, "cores_of_system", lambda: system)
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


@pytest.fixture
def two_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., CoreWatch]:
    """Begin a watch in which two cores, this process, and those of low priority work for so many seconds."""
    stat, clock = tmp_path / "stat", [0.0]
    monkeypatch.setattr(threads, "CPU_TIMES", stat)
    monkeypatch.setattr(threads, "CPU_QUOTA", tmp_path / "none")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 3}, raising=False)
    monkeypatch.setattr(os, "sysconf", lambda name: 100)
    monkeypatch.setattr(os, "getpriority", lambda which, who: 0)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr("torch.get_num_threads", lambda: 2)
    monkeypatch.delenv(threads.THREADS, raising=False)

    def state(seconds: tuple[float, float], own: float, low: float) -> None:
        ticks = [round(100 * value) for value in (*seconds, low)]
        lines = [f"cpu{core} {ticks[i]} {ticks[2]} 7 {ticks[2]} 0 0 0 0 0 0" for i, core in enumerate((1, 3))]
        stat.write_text("\n".join(["cpu 1 2 3", "cpu0 99999 0 0 0 0 0 0", *lines, "intr 5"]) + "\n")
        monkeypatch.setattr(os, "times", lambda: (own, 0.0, 0.0, 0.0, 0.0))

    def watch(passed: float, seconds: tuple[float, float], own: float, low: float = 0.0) -> CoreWatch:
        state((5.0, 6.0), 1.0, 2.0)
        begun = CoreWatch()

        def pass_time(more: float) -> None:
            clock[0] += more
            state((5.0 + seconds[0], 6.0 + seconds[1]), 1.0 + own, 2.0 + low)

        pass_time(passed)
        monkeypatch.setattr(time, "sleep", pass_time)
        return begun

    return watch


@pytest.mark.parametrize(
    ("passed", "seconds", "own", "low", "expected"),
    [
        (2.0, (2.0, 0.0), 2.0, 0.0, []),  # this process alone, while its libraries load
        (2.0, (2.0, 0.0), 0.0, 0.0, [1]),
        (2.0, (2.0, 1.9), 2.0, 0.0, [1]),
        (2.0, (2.0, 2.0), 1.0, 0.0, [1]),  # others on both: one thread is left
        (2.0, (0.5, 0.4), 0.2, 0.0, []),  # short work of others
        (2.0, (0.0, 0.0), 0.0, 9.0, []),  # low priority
        (0.0, (0.2, 0.0), 0.0, 0.0, []),  # a fifth of a second of others' work in the shortest watch
        (0.0, (0.5, 0.0), 0.0, 0.0, [1]),
    ],
)
def test_threads_leave_out_the_cores_that_others_keep_busy(
    passed: float,
    seconds: tuple[float, float],
    own: float,
    low: float,
    expected: list[int],
    two_cores: Callable[..., CoreWatch],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen: list[int] = []
    monkeypatch.setattr("torch.set_num_threads", chosen.append)
    sentence = leave_busy_cores(two_cores(passed, seconds, own, low))
    assert chosen == expected
    assert (sentence is not None) == bool(expected)
    assert available_cores() == 2, "a sweep still has all cores"


@pytest.mark.parametrize("given", ["1", "2"])
def test_the_users_number_of_threads_stays(
    given: str, two_cores: Callable[..., CoreWatch], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = two_cores(2.0, (2.0, 0.0), 0.0)
    monkeypatch.setenv(threads.THREADS, given)
    assert leave_busy_cores(watch) is None


@pytest.mark.parametrize(("quota", "expected"), [("100000 100000", [1]), ("300000 100000", [3]), ("900000 100000", [])])
def test_a_containers_quota_limits_threads(
    quota: str, expected: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyTorch counts the cores of the machine. Nothing is said: no program takes them away."""
    (tmp_path / "cpu.max").write_text(f"{quota}\n")
    monkeypatch.setattr(threads, "CPU_QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(threads, "CPU_TIMES", tmp_path / "none")
    monkeypatch.setattr(threads, "SHORTEST_WATCH", 0.0)
    monkeypatch.setattr(threads, "cores_of_system", lambda: 8)
    monkeypatch.delenv(threads.THREADS, raising=False)
    now = [8]
    monkeypatch.setattr("torch.get_num_threads", lambda: now[-1])
    monkeypatch.setattr("torch.set_num_threads", now.append)
    assert leave_busy_cores(CoreWatch()) is None
    assert now[1:] == expected


def test_a_system_that_does_not_tell_keeps_all_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "CPU_TIMES", tmp_path / "none")
    monkeypatch.setattr(threads, "SHORTEST_WATCH", 0.0)
    monkeypatch.setattr(threads, "cores_of_system", lambda: 2)
    monkeypatch.delenv(threads.THREADS, raising=False)
    assert leave_busy_cores(CoreWatch()) is None


def test_the_watch_begins_before_torch_is_imported() -> None:
    """So it lasts as long as the libraries take to load."""
    program = (
        "import sys; from triptych import __main__; from triptych.commands import threads; "
        "print(type(threads.STARTED).__name__, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["CoreWatch", "False"]


def test_the_processes_that_make_batches_are_no_other_programs() -> None:
    child = multiprocessing.get_context("fork").Process(target=_work, daemon=True)
    child.start()
    try:
        before, began = threads._own_seconds(), time.monotonic()
        while threads._own_seconds() - before < 0.2:
            assert time.monotonic() - began < 60
            time.sleep(0.05)
    finally:
        child.kill()
        child.join()


def _work() -> None:
    while True:
        pass
