"""The interval of a difference, against SciPy's and statsmodels' tests of samples."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.weightstats import ttost_ind

from triptych.reports.statistics.difference import MOST_SEEDS, POWER, Difference
from triptych.reports.statistics.seeds import SeedVariance, pool_seeds

OURS, THEIRS = [45.1, 44.2, 46.3, 45.0], [43.0, 43.9, 44.1]


def of_seeds(ours: list[float], theirs: list[float], **other: int) -> Difference:
    """The difference of two arms whose sentences do not vary."""
    seeds = pool_seeds([ours, theirs])
    assert seeds is not None
    return Difference(float(np.mean(ours) - np.mean(theirs)), (len(ours), len(theirs)), (seeds,), **other)


@pytest.mark.parametrize("comparisons", [1, 4])
def test_without_sentences_it_is_students_interval(comparisons: int) -> None:
    found = of_seeds(OURS, THEIRS, comparisons=comparisons)
    theirs = stats.ttest_ind(OURS, THEIRS).confidence_interval(1 - 0.05 / comparisons)
    assert (found.interval.low, found.interval.high) == pytest.approx((theirs.low, theirs.high))
    assert found.degrees == pytest.approx(5)


@pytest.mark.parametrize("comparisons", [1, 4])
def test_arms_with_variances_of_their_own_have_welchs_interval(comparisons: int) -> None:
    own = tuple(SeedVariance(float(np.var(arm, ddof=1)), len(arm) - 1, 1) for arm in (OURS, THEIRS))
    estimate = float(np.mean(OURS) - np.mean(THEIRS))
    found = Difference(estimate, (len(OURS), len(THEIRS)), own, comparisons=comparisons)
    welch = stats.ttest_ind(OURS, THEIRS, equal_var=False)
    bounds = welch.confidence_interval(1 - 0.05 / comparisons)
    assert found.degrees == pytest.approx(welch.df)
    assert (found.interval.low, found.interval.high) == pytest.approx((bounds.low, bounds.high))


def test_two_variances_have_welchs_degrees_of_freedom() -> None:
    """Welch's test is Satterthwaite's approximation for two variances. Here the second is that of the sentences."""
    one, other = np.array([1.0, 4.0, 2.0, 6.0, 3.0]), np.array([2.0, 2.5, 2.2, 1.9])
    seeds = SeedVariance(float(np.var(one, ddof=1)), degrees=4, arms=1)
    found = Difference(
        estimate=float(one.mean() - other.mean()),
        counts=(10, 10),  # 1/10 + 1/10 = 1/5
        seeds=(seeds,),
        sentence_variance=float(np.var(other, ddof=1) / 4),
        sentences=4,
    )
    welch = stats.ttest_ind(one, other, equal_var=False)
    bounds = welch.confidence_interval()
    assert found.degrees == pytest.approx(welch.df)
    assert (found.interval.low, found.interval.high) == pytest.approx((bounds.low, bounds.high))


@pytest.mark.parametrize("margin", [1.0, 2.0, 2.6, 3.5, 5.0])
def test_equivalence_is_two_one_sided_tests(margin: float) -> None:
    p = ttost_ind(np.array(OURS), np.array(THEIRS), -margin, margin)[0]
    assert of_seeds(OURS, THEIRS).is_within(margin) == (p < 0.05)


@pytest.mark.parametrize("true", [0.0, 0.5, 2.0, -2.0, 50.0])
def test_power_is_statsmodels(true: float) -> None:
    found = of_seeds(OURS[:3], THEIRS)
    theirs = TTestIndPower().power(true / math.sqrt(found.seeds[0].variance), nobs1=3, alpha=0.05)
    assert found.power(true) == pytest.approx(1.0 if true == 50 else theirs, abs=1e-6)


def test_the_smallest_detectable_difference_is_found_with_the_power() -> None:
    found = of_seeds(OURS[:3], THEIRS)
    theirs = TTestIndPower().solve_power(nobs1=3, alpha=0.05, power=POWER) * math.sqrt(found.seeds[0].variance)
    assert found.smallest_detectable() == pytest.approx(theirs, rel=1e-4)
    assert found.power(found.smallest_detectable()) == pytest.approx(POWER)


@pytest.mark.parametrize("size", [0.5, 1.0, 3.0])
def test_the_seeds_needed_are_statsmodels(size: float) -> None:
    found = of_seeds(OURS[:3], THEIRS)
    theirs = TTestIndPower().solve_power(effect_size=size, alpha=0.05, power=POWER)
    assert found.seeds_needed(size * math.sqrt(found.seeds[0].variance)) == math.ceil(theirs)


def test_sentences_can_make_seeds_useless() -> None:
    seeds = (SeedVariance(0.01, 4, 2),)
    assert Difference(0.1, (3, 3), seeds, sentence_variance=1.0, sentences=100).seeds_needed(0.5) is None
    assert Difference(0.1, (3, 3), seeds).seeds_needed(1.0) == 2
    assert Difference(0.1, (3, 3), seeds).seeds_needed(0.001) is None, f"more than {MOST_SEEDS}"


def test_equal_trainings_leave_no_doubt() -> None:
    found = Difference(2.0, (2, 2), (SeedVariance(0.0, 2, 2),))
    assert (found.interval.low, found.interval.high) == (2.0, 2.0)
    assert not replace(found, estimate=0.0).is_within(1.0)
    assert found.smallest_detectable() == 0
    assert found.seeds_needed(1.0) == 2
