"""Whether small predicts large: pairs in the same order, and arms that differ more than seeds do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from triptych.reports.statistics.agreement import Agreement, decision_accuracy, order_pairs, signal_to_noise
from triptych.reports.statistics.seeds import pool_seeds


def test_pairs_that_both_order_are_counted() -> None:
    small = order_pairs({"a": 1.0, "b": 2.0, "c": 3.0, "d": 0.0}, higher_is_better=True)
    large = order_pairs({"a": 5.0, "b": 4.0, "c": 3.0, "e": 1.0}, higher_is_better=False)
    assert decision_accuracy(small, large) == Agreement(3, 3)
    tied = order_pairs({"a": 1.0, "b": 1.0, "c": 0.5}, higher_is_better=True)
    assert decision_accuracy(small, tied) == Agreement(0, 2), "c is the best of the one and the worst of the other"


def test_the_interval_of_a_share_is_wilsons() -> None:
    found = Agreement(3, 4)
    z, n, p = 1.959964, 4, 0.75
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    assert (found.interval.low, found.interval.high) == pytest.approx((middle - half, middle + half), abs=1e-6)
    assert math.isnan(Agreement(0, 0).share)
    assert Agreement(1, 2) + Agreement(2, 3) == Agreement(3, 5)


def test_the_ratio_is_that_of_an_analysis_of_variance() -> None:
    arms = [[1.0, 2.0, 3.0], [4.0, 4.5, 6.0], [2.0, 1.0, 2.5]]
    found = signal_to_noise(arms, pool_seeds(arms))
    assert found is not None
    assert 3 * found.ratio**2 == pytest.approx(stats.f_oneway(*arms).statistic)
    assert found.interval.low < found.ratio < found.interval.high


def test_the_interval_of_the_ratio_covers_what_is_true() -> None:
    """Arms with a standard deviation of 2 and seeds with 1: the means of three seeds have sqrt(4 + 1/3)."""
    generator = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        arms = generator.normal(0, 2, size=(5, 1)) + generator.normal(0, 1, size=(5, 3))
        found = signal_to_noise(list(arms), pool_seeds(list(arms)))
        assert found is not None
        covered += found.interval.low < math.sqrt(4 + 1 / 3) < found.interval.high
    assert 0.91 < covered / 300 < 0.99


def test_without_seeds_or_arms_there_is_no_ratio() -> None:
    assert signal_to_noise([[1.0], [2.0]], None) is None
    assert signal_to_noise([[1.0, 2.0]], pool_seeds([[1.0, 2.0]])) is None
    assert signal_to_noise([[1.0, 1.0], [2.0, 2.0]], pool_seeds([[1.0, 1.0], [2.0, 2.0]])) is None
