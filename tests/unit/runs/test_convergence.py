"""Whether a training had converged, by its validation losses."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from triptych.runs.convergence import has_diverged, late_fall, still_falling


def test_the_fall_of_the_last_fifth_is_interpolated() -> None:
    steps = [100, 200, 300, 400]  # the last fifth begins at step 320
    assert late_fall(steps, [4.0, 3.0, 2.0, 1.0]) == pytest.approx(0.8)
    assert late_fall([40, 80, 100], [4.0, 2.0, 1.5]) == pytest.approx(0.5)
    logged = pd.DataFrame({"step": steps, "loss": [4.0, 3.0, 2.0, 1.0]}, index=[1, 3, 5, 7])
    assert late_fall(logged["step"], logged["loss"]) == pytest.approx(0.8)


def test_a_loss_that_rises_or_varies_does_not_fall() -> None:
    assert late_fall([80, 90, 100], [2.0, 2.1, 2.2]) == 0
    assert late_fall([60, 80, 100], [2.0, 2.4, 2.1]) == 0, "it was lower before"
    assert not still_falling(late_fall([80, 100], [2.0, 1.991]))
    assert still_falling(late_fall([80, 100], [2.0, 1.989]))


def test_one_validation_says_nothing() -> None:
    assert late_fall([], []) is late_fall([100], [2.0]) is None
    assert not still_falling(None)


@pytest.mark.parametrize(
    ("last", "unigram", "diverged"),
    [
        (4.9, 5.0, False),
        (5.0, 5.0, True),
        (5.1, 5.0, True),
        (5.1, None, False),
        (math.inf, None, True),
        (math.nan, 5.0, True),
    ],
)
def test_a_training_that_is_no_better_than_frequencies_diverged(
    last: float, unigram: float | None, diverged: bool
) -> None:
    assert has_diverged(last, unigram) is diverged
