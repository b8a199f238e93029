"""Power laws of loss over training FLOPs, one for each series of models, with a floor that the series share.

    L_s(C) = E + A_s (C / C_0)^-alpha_s

C_0 is the geometric mean of all FLOPs, so A_s is the loss above the floor there. The series share the floor E, since it
stands for what no model can predict of the text. It also makes their exponents comparable: from few points, exponent
and floor of a single series cannot be told apart. The fit minimises the Huber loss of the differences of log L, as
Hoffmann et al. 2022 do (arXiv 2203.15556, approach 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

Array = NDArray[np.float64]
Points = tuple[ArrayLike, ArrayLike]
"""FLOPs and losses of a series, (n,) each."""

FEWEST = 4
"""Fewest different FLOPs of a series: one more than a law by itself has parameters."""
HUBER = 0.01
"""Difference of log loss up to which the Huber loss is a square: about 1% of the loss."""
STEEPEST = 10.0
"""Largest exponent that is considered."""
FLOORS = (0.0, 0.3, 0.6, 0.9)
"""Floors that the fit starts from, as shares of the lowest loss."""
DRAWS = 500
"""Number of resamples."""


@dataclass(frozen=True)
class PowerLaws:
    """Fitted power laws, one for each series.

    Attributes:
        unit: C_0, in FLOPs.
        floor: E.
        scales: A_s of each series.
        exponents: alpha_s of each series.
    """

    unit: float
    floor: float
    scales: tuple[float, ...]
    exponents: tuple[float, ...]

    def loss(self, series: int, flops: ArrayLike) -> Array:
        """Return the loss of a series at some FLOPs."""
        x = np.asarray(flops, np.float64) / self.unit
        return self.floor + self.scales[series] * x ** -self.exponents[series]

    def crossing(self, one: int, other: int) -> float:
        """Return the FLOPs at which two series have the same loss; infinite if that is nowhere."""
        steeper = self.exponents[one] - self.exponents[other]
        if steeper == 0:
            return float("inf")
        log = np.log(self.scales[one] / self.scales[other]) / steeper
        return float(self.unit * np.exp(np.clip(log, -500, 500)))


def frontier(flops: ArrayLike, losses: ArrayLike) -> list[int]:
    """Return the places of the points that no point with as few FLOPs or fewer equals or betters, by FLOPs."""
    c, loss = np.asarray(flops, np.float64), np.asarray(losses, np.float64)
    found: list[int] = []
    for i in np.lexsort((loss, c)).tolist():
        if not found or loss[i] < loss[found[-1]]:
            found.append(i)
    return found


def fit(series: Sequence[Points]) -> PowerLaws:
    """Fit the laws of some series, each with at least ``FEWEST`` different FLOPs."""
    points = _Points.of(series)
    lowest = float(np.exp(points.log_losses.min()))
    fits = [_minimize(points, _start(points, share * lowest)) for share in FLOORS]
    return min(fits, key=lambda found: found[0])[1]


def misfit(series: Sequence[Points], fitted: PowerLaws) -> float:
    """Return the root mean square of the differences between log losses and fit; small ones are shares of the loss."""
    return float(np.sqrt(np.mean(_residuals(series, fitted) ** 2)))


def resample(series: Sequence[Points], fitted: PowerLaws, seed: int | None, draws: int = DRAWS) -> list[PowerLaws]:
    """Return the fits of resamples, from whose quantiles intervals follow.

    A resample keeps the FLOPs, and draws new differences between log losses and fit from those of all series,
    with replacement. They are enlarged by sqrt(n / (n - parameters)), since a fit draws the curves towards its points.

    Args:
        series: the points that were fitted.
        fitted: their fit.
        seed: of the random generator; None for a different one each time.
        draws: number of resamples.
    """
    points = _Points.of(series)
    count, start = len(points.series), _parameters(fitted)
    residuals = _residuals(series, fitted)
    expected = points.log_losses - residuals
    drawn = (residuals - residuals.mean()) * np.sqrt(count / (count - len(start)))
    generator = np.random.default_rng(seed)
    return [
        _minimize(replace(points, log_losses=expected + generator.choice(drawn, count)), start)[1] for _ in range(draws)
    ]


@dataclass(frozen=True)
class _Points:
    """The points of all series, one after the other: log(C / C_0), log L and the series, (n,) each."""

    log_flops: Array
    log_losses: Array
    series: NDArray[np.intp]
    unit: float

    @classmethod
    def of(cls, series: Sequence[Points]) -> _Points:
        log_flops, log_losses = (np.log(np.concatenate([np.asarray(one[k]) for one in series])) for k in (0, 1))
        numbers = np.repeat(np.arange(len(series)), [len(np.asarray(flops)) for flops, _ in series])
        centre = float(log_flops.mean())
        return cls(log_flops - centre, log_losses, numbers, float(np.exp(centre)))


def _residuals(series: Sequence[Points], laws: PowerLaws) -> Array:
    return np.concatenate([np.log(losses) - np.log(laws.loss(s, flops)) for s, (flops, losses) in enumerate(series)])


def _start(points: _Points, floor: float) -> Array:
    """Return the parameters whose laws are lines through log(L - E) over log C."""
    above = np.log(np.exp(points.log_losses) - floor)
    groups = [points.series == s for s in range(points.series.max() + 1)]
    lines = [stats.linregress(points.log_flops[group], above[group]) for group in groups]
    return np.array([floor, *(line.intercept for line in lines), *(-line.slope for line in lines)])


def _parameters(laws: PowerLaws) -> Array:
    return np.array([laws.floor, *np.log(laws.scales), *laws.exponents])


def _minimize(points: _Points, start: Array) -> tuple[float, PowerLaws]:
    """Return the Huber loss of the best fit from a start, and the fit.

    The parameters are E, log A_s of each series, and alpha_s of each series.
    """
    count = len(start) // 2
    of_series = np.eye(count)[points.series]

    def residuals(parameters: Array) -> Array:
        scales, exponents = of_series @ parameters[1 : 1 + count], of_series @ parameters[1 + count :]
        return np.log(parameters[0] + np.exp(scales - exponents * points.log_flops)) - points.log_losses

    low = np.array([0.0, *[-30.0] * count, *[0.0] * count])
    high = np.array([0.999 * np.exp(points.log_losses.min()), *[30.0] * count, *[STEEPEST] * count])
    inside = np.clip(start, low + 1e-9, high - 1e-9)
    found = optimize.least_squares(residuals, inside, bounds=(low, high), loss="huber", f_scale=HUBER, x_scale="jac")
    floor, scales, exponents = found.x[0], np.exp(found.x[1 : 1 + count]), found.x[1 + count :]
    return float(found.cost), PowerLaws(points.unit, float(floor), tuple(scales.tolist()), tuple(exponents.tolist()))
