"""Trainings read at equal amounts, against values worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import make_run, rows_of

from triptych.reports.equal_amounts import (
    Course,
    Reading,
    are_equal_sizes,
    course_of,
    merge_alike,
    read_course,
    read_ends,
    read_equal,
)

FALLING = Course({"tokens": [100, 200, 300, 400], "flops": [1, 2, 3, 4]}, [4.0, 3.0, 3.5, 2.0], [0.5, 1.0, 0.8, 0.6])
SHORT = Course({"tokens": [100, 200], "flops": [2, 4]}, [5.0, 4.5], [0.5, 0.7])


@pytest.mark.parametrize(
    ("amount", "loss", "rate"),
    [(100, 4.0, 0.5), (150, 3.5, 0.75), (200, 3.0, 1.0), (300, 3.0, 0.8), (350, 2.5, 0.7)],
)
def test_a_training_is_read_at_its_lowest_loss_so_far(amount: float, loss: float, rate: float) -> None:
    """The rise to 3.5 does not count: the better checkpoint was there."""
    reading = read_course(FALLING, "tokens", amount)
    assert reading == Reading(pytest.approx(loss), pytest.approx(rate), at_end=False)


@pytest.mark.parametrize("amount", [397, 400, 10_000])
def test_a_training_that_ends_about_there_is_read_at_its_end(amount: float) -> None:
    assert read_course(FALLING, "tokens", amount) == Reading(2.0, 0.6, at_end=True)


def test_nothing_is_known_before_the_first_validation() -> None:
    assert read_course(FALLING, "tokens", 99) is None


@given(st.lists(st.floats(1, 9), min_size=2, max_size=8), st.floats(1, 8), st.floats(1, 8))
def test_more_training_never_reads_worse(losses: list[float], one: float, other: float) -> None:
    course = Course({"tokens": list(range(1, len(losses) + 1))}, losses, None)
    sooner, later = (read_course(course, "tokens", amount) for amount in sorted((one, other)))
    assert sooner is not None
    assert later is not None
    assert min(losses) <= later.loss <= sooner.loss <= losses[0]


def test_all_are_read_where_the_cheapest_ended() -> None:
    read = read_equal("tokens", {"long": [FALLING, FALLING], "short": [SHORT], "missing": []})
    assert read.amount == 200
    assert read.losses("long") == [3.0, 3.0]
    assert read.losses("short") == [4.5]
    assert read.arms["short"][0].at_end
    assert read.losses("missing") == []
    assert read_equal("flops", {"long": [FALLING], "short": [SHORT]}).losses("long") == [2.0], "both end at 4"


def test_an_arm_that_was_validated_too_late_has_no_reading() -> None:
    late = Course({"tokens": [300, 400]}, [2.0, 1.0], None)
    assert read_equal("tokens", {"late": [late], "short": [SHORT]}).losses("late") == []
    assert read_equal("seconds", {"short": [SHORT]}).losses("short") == [], "its speed is not known"


@pytest.mark.parametrize(
    ("rates", "comparable"),
    [([1.0, 0.7], True), ([1.0, 0.4], True), ([1.0, 0.2], False), (None, False)],
)
def test_losses_at_other_learning_rates_are_not_compared(rates: list[float] | None, comparable: bool) -> None:
    """At 200 tokens the long training has 0.7 of its peak; a rate that has fallen to 0.2 is no match."""
    long = Course({"tokens": [100, 200, 300]}, [4.0, 3.0, 2.0], [1.0, 0.7, 0.6])
    short = Course({"tokens": [100, 200]}, [4.0, 3.0], rates)
    assert read_equal("tokens", {"long": [long], "short": [short]}).share_rates("long", "short") is comparable
    assert read_ends("own end", {"long": [long], "short": [short]}).share_rates("long", "short")


def test_meanings_that_read_the_same_are_one() -> None:
    alike = {"one": [FALLING], "other": [FALLING]}
    merged = merge_alike([read_ends("parameters", alike), read_equal("tokens", alike), read_ends("own", {"one": []})])
    assert [reading.meanings for reading in merged] == [("parameters", "tokens"), ("own",)]
    apart = {"one": [FALLING], "other": [SHORT]}
    assert len(merge_alike([read_ends("parameters", apart), read_equal("tokens", apart)])) == 2


def test_sizes_within_five_percent_are_equal() -> None:
    assert are_equal_sizes([100, 104])
    assert not are_equal_sizes([100, 106])


def test_the_course_of_a_run(tmp_path: Path) -> None:
    """400 tokens in 40 steps; the last 4 were not logged."""
    folder = make_run(tmp_path, "rnn", steps=40, tokens_src=200, tokens_tgt=200, flops=8e9)
    (folder / "metrics.csv").write_text(
        "step,train/tokens,train/lr,validation/loss\n18,180,0.2,\n36,360,0.1,\n20,,,4.0\n40,,,3.0\n"
    )
    ((run,),) = (row.runs for row in rows_of(tmp_path))
    course = course_of(run, tokens_per_second=50.0)
    assert course is not None
    assert course.spent["tokens"] == [200, 400]
    assert course.spent["flops"] == [4e9, 8e9]
    assert course.spent["seconds"] == [4, 8], "not those that the run itself took"
    assert course.losses == [4.0, 3.0]
    assert course.rates == pytest.approx([(0.2 - 0.1 * 2 / 18) / 0.2, 0.5])
    assert "seconds" not in (course_of(run) or FALLING).spent
    (folder / "metrics.csv").write_text("step,train/tokens\n10,100\n")
    assert course_of(run) is None
