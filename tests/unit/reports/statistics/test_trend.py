"""A line and the interval of its slope, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from triptych.reports.statistics.trend import fit_trend


def test_a_line_by_hand() -> None:
    found = fit_trend([0, 1, 2, 3], [1.0, 3.1, 4.9, 7.0])
    assert found is not None
    # residuals -0.03, 0.09, -0.09, 0.03: s^2 = 0.018 / 2, standard error sqrt(0.009 / 5), t = 4.3027
    assert found.slope == pytest.approx(1.98)
    assert found.high - found.slope == pytest.approx(4.3027 * np.sqrt(0.009 / 5), rel=1e-4)
    assert found.slope - found.low == pytest.approx(found.high - found.slope)
    assert (found.start, found.end) == pytest.approx((1.03, 6.97))


def test_too_few_points_have_no_interval() -> None:
    assert fit_trend([0, 1], [1, 0]) is None
    assert fit_trend([1, 1, 1], [0, 1, 2]) is None
