"""The slope of a line through points, with its interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


@dataclass(frozen=True)
class Trend:
    """A line by least squares.

    Attributes:
        slope: of the line.
        low: lower end of the slope's 95% interval by the t distribution.
        high: its upper end.
        start: the line's value at the smallest x.
        end: its value at the largest.
    """

    slope: float
    low: float
    high: float
    start: float
    end: float


def fit_trend(x: ArrayLike, y: ArrayLike) -> Trend | None:
    """Return the line of y over x; None with fewer than three points, or fewer than two different x."""
    xs, ys = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(xs) < 3 or xs.min() == xs.max():
        return None
    line = stats.linregress(xs, ys)
    half = stats.t.ppf(0.975, len(xs) - 2) * line.stderr
    start, end = line.intercept + line.slope * np.array([xs.min(), xs.max()])
    return Trend(float(line.slope), float(line.slope - half), float(line.slope + half), float(start), float(end))
