"""Power laws are found again in data that were made by them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.reports.statistics.power_law import PowerLaws, fit, frontier, misfit, resample

FLOPS = np.geomspace(1e12, 1e15, 7)
TRUE = PowerLaws(unit=1e13, floor=1.2, scales=(0.8, 0.6), exponents=(0.25, 0.4))


def made(noise: float = 0.0, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(seed)
    return [(FLOPS, TRUE.loss(s, FLOPS) * np.exp(noise * generator.standard_normal(len(FLOPS)))) for s in (0, 1)]


def test_the_frontier_by_hand() -> None:
    #                 0    1    2    3    4    5
    flops = np.array([1.0, 2.0, 2.0, 3.0, 4.0, 0.5])
    losses = np.array([5.0, 4.0, 3.5, 3.6, 3.0, 6.0])
    assert frontier(flops, losses) == [5, 0, 2, 4], "3 has more FLOPs and a higher loss than 2; 1 a higher loss"
    assert frontier([], []) == []


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=12))
def test_the_frontier_is_what_nothing_dominates(points: list[tuple[int, int]]) -> None:
    flops, losses = zip(*points, strict=True)
    kept = {points[i] for i in frontier(flops, losses)}
    undominated = {
        (c, loss)
        for c, loss in points
        if not any((d <= c and other <= loss) and (d, other) != (c, loss) for d, other in points)
    }
    assert kept == undominated


def test_laws_without_noise_are_recovered() -> None:
    found = fit(made())
    assert found.floor == pytest.approx(TRUE.floor, rel=1e-3)
    assert found.exponents == pytest.approx(TRUE.exponents, rel=1e-2)
    assert found.loss(1, 3e13) == pytest.approx(TRUE.loss(1, 3e13), rel=1e-4)
    # 0.8 x^-0.25 = 0.6 x^-0.4 at x = (0.6 / 0.8)^(1 / 0.15)
    assert found.crossing(0, 1) == pytest.approx(1e13 * 0.75 ** (1 / 0.15), rel=2e-2)
    assert found.crossing(0, 1) == pytest.approx(found.crossing(1, 0))


def test_intervals_hold_the_truth() -> None:
    """Of 12 data sets with noise of 0.5%, nearly all intervals of the exponents' difference hold the true one."""
    held = 0
    for seed in range(12):
        points = made(0.005, seed)
        found = fit(points)
        drawn = resample(points, found, seed=seed, draws=50)
        low, high = np.percentile([one.exponents[1] - one.exponents[0] for one in drawn], (2.5, 97.5))
        held += low <= 0.15 <= high
    assert held >= 9


def test_the_misfit_by_hand() -> None:
    points = [(c, loss * np.exp([0.3, -0.3] * 3 + [0])) for c, loss in made()]
    assert misfit(points, TRUE) == pytest.approx(0.3 * np.sqrt(6 / 7))
