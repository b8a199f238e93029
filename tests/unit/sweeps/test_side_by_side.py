"""Arms side by side: how many at a time, with how many threads, and what becomes of them. No arm trains here."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from pretended import pretend

from triptych.config.composition import RunConfig, compose_unchecked
from triptych.sweeps.arm_process import import_libraries
from triptych.sweeps.arms import Arm
from triptych.sweeps.messages import MARK, ArmMessages
from triptych.sweeps.shared_settings import RepeatFilter
from triptych.sweeps.side_by_side import NOT_FINISHED, QueuedArm, SideBySide
from triptych.training.callbacks.save_on_signal import TERMINATED


def queued(label: str, training: str | None = None, after: frozenset[str] = frozenset()) -> QueuedArm:
    overrides = (f"model={label}",)
    return QueuedArm(
        Arm(None, 1, overrides, label), RunConfig(OmegaConf.create(), overrides, {}, None), training or label, after
    )


def sweep(log: Path, arms: Sequence[QueuedArm], *, jobs: int = 2, cores: int = 2, **status: str) -> SideBySide:
    return SideBySide(arms, jobs=jobs, cores=cores, trained=set(), work=partial(pretend, log, status))


def events(log: Path) -> list[tuple[str, str]]:
    return [(line.split()[0], line.split()[1]) for line in log.read_text().splitlines()]


@pytest.fixture(scope="module", autouse=True)
def _libraries() -> None:
    import_libraries()


@pytest.fixture
def messages(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "triptych")
    monkeypatch.setattr(logging.getLogger("triptych"), "propagate", True)
    return caplog


def test_as_many_at_a_time_as_there_are_jobs(tmp_path: Path) -> None:
    log = tmp_path / "log"
    sweep(log, [queued(label) for label in "abcde"]).run()
    running, most = set[str](), 0
    for what, label in events(log):
        running = running | {label} if what == "start" else running - {label}
        most = max(most, len(running))
    assert most == 2
    assert not running
    assert [label for what, label in events(log) if what == "start"][:2] in (["a", "b"], ["b", "a"])
    assert {tuple(line.split()[2:]) for line in log.read_text().splitlines()} >= {("1", "1")}


@pytest.mark.parametrize(
    ("cores", "jobs", "arms", "threads"),
    [(2, 2, 4, [1, 1]), (8, 8, 3, [2, 3, 3]), (8, 2, 5, [4, 4]), (2, 4, 4, [1, 1, 1, 1]), (4, 4, 1, [4])],
)
def test_threads_are_shared_by_the_arms_that_start(cores: int, jobs: int, arms: int, threads: list[int]) -> None:
    started = SideBySide([], jobs=jobs, cores=cores, trained=set(), work=lambda arm: 0)
    found: list[int] = []
    while len(found) < min(jobs, arms):
        found.append(started.threads_of_next(arms - len(found)))
        started.running.append(Running(found[-1]))  # type: ignore[arg-type]
    assert found == threads


class Running:
    """An arm's process as far as the threads of the next one depend on it."""

    nearly_done = False

    def __init__(self, threads: int) -> None:
        self.threads = threads


def test_the_last_arm_takes_the_threads_of_those_that_are_nearly_done() -> None:
    started = SideBySide([], jobs=2, cores=2, trained=set(), work=lambda arm: 0)
    started.running = [Running(1)]  # type: ignore[list-item]
    assert started.threads_of_next(1) == 1
    started.running[0].nearly_done = True  # type: ignore[misc]
    assert started.threads_of_next(1) == 2
    assert started.threads_of_next(2) == 1, "the second of them will have the other thread"


def test_an_arm_waits_for_the_weights_that_another_one_trains(tmp_path: Path) -> None:
    log = tmp_path / "log"
    sweep(log, [queued("a1", "a"), queued("a2", "a"), queued("a3", "a"), queued("b")]).run()
    found = events(log)
    assert {label for _, label in found[:2]} == {"a1", "b"}, "a2 takes no job while it waits"
    after = [label for what, label in found[found.index(("end", "a1")) :] if what == "start"]
    assert sorted(after) == ["a2", "a3"]
    assert {what for what, _ in found[-2:]} == {"end"}, "once the weights are there, both are scored at a time"


def test_an_arm_waits_for_the_trunk_that_another_one_trains(tmp_path: Path) -> None:
    log = tmp_path / "log"
    middle, long = frozenset({"short"}), frozenset({"short", "middle"})
    arms = [queued("long", after=long), queued("middle", after=middle), queued("short"), queued("other")]
    sweep(log, arms, short=str(NOT_FINISHED)).run()
    found = events(log)
    assert found.index(("start", "other")) < found.index(("start", "long"))
    order = [found.index((what, label)) for label in ("short", "middle", "long") for what in ("start", "end")]
    assert order == sorted(order), "a failed arm holds nobody up"


def test_a_failed_training_leaves_its_weights_to_the_next_arm(tmp_path: Path) -> None:
    log = tmp_path / "log"
    sweep(log, [queued("a1", "a"), queued("a2", "a"), queued("a3", "a")], a1=str(NOT_FINISHED)).run()
    assert events(log) == [(what, label) for label in ("a1", "a2", "a3") for what in ("start", "end")]


def test_a_process_that_is_killed_is_named_and_stops_no_other(
    tmp_path: Path, messages: pytest.LogCaptureFixture
) -> None:
    log = tmp_path / "log"
    sweep(log, [queued("a"), queued("b"), queued("c"), queued("d")], a="killed", b=str(NOT_FINISHED), c="7").run()
    assert {label for what, label in events(log) if what == "end"} == {"a", "b", "c", "d"}
    said = [record.getMessage() for record in messages.records if record.levelno == logging.ERROR]
    assert sorted(said) == [
        "a | its process was killed by SIGKILL; perhaps memory was short.",
        "c | its process ended with status 7.",
    ]


@pytest.mark.parametrize(("number", "raised"), [(signal.SIGTERM, SystemExit), (signal.SIGINT, KeyboardInterrupt)])
def test_a_signal_lets_every_arm_save_and_starts_no_other(
    tmp_path: Path, messages: pytest.LogCaptureFixture, number: signal.Signals, raised: type[BaseException]
) -> None:
    log = tmp_path / "log"
    log.touch()
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]

    def interrupt() -> None:
        while len(events(log)) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    threading.Thread(target=interrupt).start()
    with pytest.raises(raised) as stopped:
        sweep(log, [queued("a"), queued("b"), queued("c")], a="long", b="long").run()
    assert sorted(events(log)) == [("saved", "a"), ("saved", "b"), ("start", "a"), ("start", "b")]
    assert number != signal.SIGTERM or stopped.value.args == (TERMINATED,)
    assert "the same command goes on" in messages.messages[-1]
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == before


def test_an_error_of_the_sweep_lets_every_arm_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output of ``triptych train -m … | head`` is a pipe that nobody reads."""
    log = tmp_path / "log"
    log.touch()

    def say(*_: object, **__: object) -> None:
        while ("start", "b") not in events(log):
            time.sleep(0.01)
        raise BrokenPipeError

    monkeypatch.setattr(SideBySide, "_say_how_far", say)
    with pytest.raises(BrokenPipeError):
        sweep(log, [queued("a"), queued("b"), queued("c")], b="long").run()
    assert sorted(events(log)) == [("end", "a"), ("saved", "b"), ("start", "a"), ("start", "b")]


def test_every_line_stands_behind_its_arm(messages: pytest.LogCaptureFixture) -> None:
    shown = ArmMessages(RepeatFilter([]))
    sent = '{"logger": "triptych.data", "level": 30, "text": "one\\ntwo", "progress": null}'
    step = '{"logger": "triptych", "level": 20, "text": "step 3/6: loss 1", "progress": [3, 6, {}]}'
    assert shown.show("a", "printed by a package\n") is None
    assert shown.show("a", f"half a line{MARK}{sent}\n") is None
    assert shown.show("b", f"{MARK}{step}\n") == (3, 6)
    assert shown.show("b", f"{MARK}{{broken\n") is None
    assert [(record.name, record.levelno, record.getMessage()) for record in messages.records] == [
        ("triptych.sweeps.messages", 20, "a | printed by a package"),
        ("triptych.sweeps.messages", 20, "a | half a line"),
        ("triptych.data", 30, "a | one"),
        ("triptych.data", 30, "a | two"),
        ("triptych", 20, "b | step 3/6: loss 1"),
        ("triptych.sweeps.messages", 20, f"b | {MARK}{{broken"),
    ]


def test_what_all_arms_share_stands_behind_none_and_once(messages: pytest.LogCaptureFixture) -> None:
    composed = [compose_unchecked(["scale=smoke", f"model={model}"]) for model in ("rnn", "lm4mt")]
    shown = ArmMessages(RepeatFilter(composed))
    for label in ("rnn", "lm4mt"):
        for text, sections in (("train: 9 pairs", ["data"]), ("model: 5", []), ("of both", ["data", "model"])):
            sent = {"logger": "triptych.t", "level": 20, "text": text, "progress": None, "sections": sections}
            shown.show(label, f"{MARK}{json.dumps(sent)}\n")
    assert messages.messages == [
        "train: 9 pairs",
        *("rnn | model: 5", "rnn | of both"),
        *("lm4mt | model: 5", "lm4mt | of both"),
    ]


def test_a_terminal_shows_a_bar_for_each_arm(
    messages: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes any output for a terminal then
    shown = ArmMessages(RepeatFilter([]))
    assert shown.bars is not None
    for step, level in ((2, 10), (6, 20)):
        sent = {"logger": "triptych.t", "level": level, "text": f"step {step}", "progress": [step, 8, {"loss": "1"}]}
        shown.show("a", f"{MARK}{json.dumps(sent)}\n")
    (bar,) = shown.bars.progress.tasks
    assert (bar.completed, bar.total) == (6, 8)
    assert [bar.fields[name] for name in ("label", "count", "figures")] == ["a", "6/8", "loss 1"]
    shown.end("a")
    assert not shown.bars.progress.tasks
    assert messages.messages == ["a | step 6"], "a validation stays"


def test_the_sweep_says_how_far_it_is(tmp_path: Path, messages: pytest.LogCaptureFixture) -> None:
    sweep(tmp_path / "log", [queued("a"), queued("b"), queued("c")], jobs=1).run()
    said = [one for one in messages.messages if one.startswith("sweep: ")]
    assert said == [f"sweep: {done} of 3 arms done, less than a minute left" for done in (1, 2)]


@pytest.mark.slow
def test_an_arm_stops_when_the_process_of_its_sweep_dies(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = tmp_path / "script.py"  # no guard by __name__: its arms must not run it again
    script.write_text(
        "import os, signal, sys, threading, time\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from pathlib import Path\n"
        "from test_side_by_side import events, import_libraries, queued, sweep\n"
        "import_libraries()\n"
        f"log = Path({str(log)!r})\n"
        "def die():\n"
        "    while not log.exists() or len(events(log)) < 2:\n"
        "        time.sleep(0.01)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "threading.Thread(target=die).start()\n"
        "sweep(log, [queued('a'), queued('b'), queued('c')], a='long', b='long').run()\n"
    )
    assert subprocess.run([sys.executable, str(script)], check=False).returncode == -signal.SIGKILL
    deadline = time.monotonic() + 20
    while len(events(log)) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sorted(events(log)) == [("saved", "a"), ("saved", "b"), ("start", "a"), ("start", "b")]
