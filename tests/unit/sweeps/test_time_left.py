"""Time left of a sweep: none without a basis; by an arm's own speed, or else by that of the others."""

from __future__ import annotations

import pytest

from triptych.sweeps.time_left import TimeLeft, in_words


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def test_nothing_is_said_without_a_basis() -> None:
    clock = Clock()
    left = TimeLeft({"a": 1, "b": 1}, now=clock)
    assert left.seconds() is None
    left.start("a")
    left.progress("a", 1, 100)
    clock.time += 5
    left.progress("a", 20, 100)
    assert left.seconds() is None, "of five seconds"
    left.end("a", finished=False)
    assert left.seconds() is None, "a failed arm says nothing of the others"


def test_arms_one_after_the_other() -> None:
    clock = Clock()
    left = TimeLeft({"a": 2, "b": 1, "c": 0}, now=clock)
    left.start("a")
    clock.time += 60
    left.end("a", finished=True)
    assert left.seconds() == 30, "half the work, and one arm that shares its weights"
    left.start("b")
    clock.time += 10
    assert left.seconds() == 20
    clock.time += 50
    assert left.seconds() == 0, "late, and never negative"


def test_arms_side_by_side_go_on_at_their_own_speed() -> None:
    clock = Clock()
    left = TimeLeft({"slow": 1, "fast": 1, "waiting": 1}, 2, clock)
    left.start("slow")
    left.start("fast")
    clock.time += 10
    for arm in ("slow", "fast"):
        left.progress(arm, 0, 100)
    clock.time += 20
    left.progress("slow", 20, 100)
    left.progress("fast", 40, 100)
    # 80 and 30 seconds to go; whole, with 10 seconds of start, they take 110 and 60, so the third about 85.
    assert left.seconds() == pytest.approx((80 + 30 + 85) / 2)
    clock.time += 30
    left.end("fast", finished=True)
    left.start("waiting")
    assert left.seconds() == pytest.approx(85), "no shorter than the longest arm"


def test_an_arm_that_goes_on_where_it_was_counts_for_what_it_did_now() -> None:
    clock = Clock()
    left = TimeLeft({"a": 1, "b": 1}, now=clock)
    left.start("a")
    left.progress("a", 80, 100)
    clock.time += 20
    left.progress("a", 100, 100)
    left.end("a", finished=True)
    assert left.seconds() == pytest.approx(100)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(59, "less than a minute left"), (100, "about 2 min left"), (5800, "about 97 min left"), (9000, "about 2 h left")],
)
def test_words_are_no_finer_than_the_estimate(seconds: float, said: str) -> None:
    assert in_words(seconds) == said
