"""The interval of the difference of two shares is Newcombe's."""

from __future__ import annotations

import math

import pytest

from triptych.reports.statistics.share import Share


@pytest.mark.parametrize(
    ("one", "other", "low", "high"),
    [  # Newcombe 1998, table II, method 10
        (Share(56, 70), Share(48, 80), 0.0524, 0.3339),
        (Share(9, 10), Share(3, 10), 0.1705, 0.8090),
        (Share(5, 56), Share(0, 29), -0.0381, 0.1926),
        (Share(0, 10), Share(0, 20), -0.1611, 0.2775),
    ],
)
def test_a_difference_has_the_published_interval(one: Share, other: Share, low: float, high: float) -> None:
    bounds = one.minus(other)
    assert (bounds.low, bounds.high) == pytest.approx((low, high), abs=5e-5)
    turned = other.minus(one)
    assert (turned.low, turned.high) == pytest.approx((-bounds.high, -bounds.low))
    wider = one.minus(other, 0.01)
    assert wider.low < bounds.low
    assert wider.high > bounds.high


def test_nothing_is_known_without_cases() -> None:
    none = Share(0, 0)
    assert math.isnan(none.value)
    assert str(none) == "–"
    assert (none.interval().low, none.interval().high) == (0.0, 1.0)
    assert (none.minus(Share(1, 2)).low, none.minus(Share(1, 2)).high) == (-1.0, 1.0)
