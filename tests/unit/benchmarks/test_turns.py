"""Workers in turns, the ratios of their speeds, and the time to a BLEU."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from conftest import ROOT

from benchmarks.cpu import settled
from benchmarks.paced import Turn, Worker, take_turns
from benchmarks.quality import page, seconds_to
from benchmarks.ratios import ratio
from benchmarks.training_clock import TrainingClock

COUNTS = """
from benchmarks.paced import Pace
pace, steps, more = Pace(2), 0, True
while more:
    steps += 1
    more = pace.step(steps=1, sum=steps)
print("steps", steps)
"""


THREE_STEPS = Turn(untimed=1, least=3, seconds=0)


def worker(code: str = COUNTS, turn: Turn = THREE_STEPS) -> Worker:
    return Worker([sys.executable, "-c", code], turn, cwd=ROOT)


def test_a_worker_counts_the_timed_steps_of_its_turns() -> None:
    with worker() as one:
        first, second = one.turn(), one.turn()
        log = one.finish()
    # two steps to warm up, one untimed, three timed: 4 + 5 + 6; then one untimed, and 8 + 9 + 10
    assert first["sum"] / first["steps"] == pytest.approx(5)
    assert second["sum"] / second["steps"] == pytest.approx(9)
    assert log == ["steps 10\n"]


def test_a_turn_lasts_until_its_seconds_are_over() -> None:
    slow = COUNTS.replace("steps += 1", "steps += 1\n    __import__('time').sleep(0.01)")
    with worker(slow, Turn(untimed=0, least=1, seconds=0.1)) as one:
        one.turn()
        log = one.finish()
    # two steps to warm up, the eleven or fewer of 0.1 s, and the one that ends the training
    assert 4 <= int(log[0].split()[1]) <= 2 + 11 + 1


def test_a_progress_bar_does_not_hide_a_reading() -> None:
    with worker("print('10%', end=''); " + COUNTS.replace("\n", "", 1)) as one:
        assert one.turn()["steps"] > 0


def test_a_worker_that_fails_shows_what_it_printed() -> None:
    with pytest.raises(RuntimeError, match="no such thing"):
        worker("raise SystemExit('no such thing')")
    with worker(COUNTS + "raise SystemExit('at the end')") as one, pytest.raises(RuntimeError, match="at the end"):
        one.finish()


def test_a_worker_is_killed_when_its_context_ends() -> None:
    with worker() as one:
        pass
    assert one.process.returncode == -9


def test_turns_end_as_soon_as_they_are_settled() -> None:
    with worker() as one, worker() as other:
        workers = {"one": one, "other": other}
        assert {len(found) for found in take_turns(workers, 2, 5, lambda _: True).values()} == {2}
        assert {len(found) for found in take_turns(workers, 2, 5, lambda _: False).values()} == {5}
        settled = take_turns(workers, 2, 5, lambda readings: len(readings["one"]) == 3)
    assert {len(found) for found in settled.values()} == {3}


def test_the_interval_of_a_ratio_covers_it_as_often_as_it_says() -> None:
    random = np.random.default_rng(0)
    covered, trials = 0, 1000
    for _ in range(trials):
        theirs = random.lognormal(0, 0.3, 10)
        found = ratio(2 * theirs * random.lognormal(0, 0.05, 10), theirs)
        covered += found.low <= 2 <= found.high
    assert 0.93 <= covered / trials <= 0.97  # plain percentiles of ten turns cover it 90 times in 100
    assert ratio([2.0, 4.0], [1.0, 2.0]) == (2.0, 2.0, 2.0)
    assert ratio([2.0, 4.0], [1.0, 2.0]).is_settled
    assert not ratio([1.0, 2.0, 3.0], [1.0, 1.0, 1.0]).is_settled


def test_turns_are_settled_when_every_ratio_is_known() -> None:
    def at(*speeds: float) -> list[dict[str, float]]:
        return [{"tokens": speed} for speed in speeds]

    base, same, noisy = at(10, 11, 12), at(20, 22, 24), at(10, 30, 12)
    readings = {"base": base, "same": same, "noisy": noisy}
    assert settled([("base", "same")], "tokens")(readings)
    assert not settled([("base", "same"), ("noisy", "same")], "tokens")(readings)


def test_time_to_a_bleu_is_found_between_two_validations() -> None:
    curve = [{"seconds": 10.0, "bleu": 20.0}, {"seconds": 20.0, "bleu": 40.0}, {"seconds": 30.0, "bleu": 39.0}]
    assert seconds_to(30.0, curve) == 15.0
    assert seconds_to(40.0, curve) == 20.0
    assert seconds_to(10.0, curve) == 5.0
    assert seconds_to(41.0, curve) is None


def test_the_clock_stands_still_between_stop_and_go(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr("benchmarks.training_clock.time.perf_counter", lambda: now[0])
    clock = TrainingClock()
    for moment, call in ((5.0, clock.stop), (9.0, clock.go_on), (10.0, clock.go_on), (11.0, clock.stop)):
        now[0] = moment
        call()
    clock.report(7, 12.5)
    assert clock.seconds == 7.0
    assert capsys.readouterr().out == (
        'validated: {"updates": 7, "seconds": 7.0, "with_validations": 11.0, "bleu": 12.5}\n'
    )


def test_the_page_has_medians_and_the_ratio() -> None:
    def training(program: str, *points: tuple[float, float]) -> dict[str, object]:
        return {"program": program, "curve": [{"seconds": seconds, "bleu": bleu} for seconds, bleu in points]}

    trainings = [training("ours", (10, 40)), training("ours", (12, 40)), training("joeynmt", (110, 40))]
    trainings.append(training("ours", (11, 40), (22, 50)))
    machine = {"processor": "P", "device": "cpu", "capability": "AVX2", "versions": {"torch": "2"}}
    text = page({"machine": machine, "arms": {"rnn": {"precision": "32-true", "trainings": trainings}}})
    assert "| rnn | 32-true | 40 | 11 [10, 12] | 110 | 10.0 |" in text
    assert "| rnn | 32-true | 45 | 16 [16, 16] |  |  |" in text
    assert "- training 3, joeynmt: 110 s 40.0" in text
