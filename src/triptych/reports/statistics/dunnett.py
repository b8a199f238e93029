"""Dunnett's test of many arms against one, on seeds alone (Dunnett 1955), by SciPy."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from triptych.reports.statistics.difference import LEVEL, Interval

ATTEMPTS = 10
"""Most attempts to find an interval: SciPy searches for its bounds by an integral over random numbers."""


@dataclass(frozen=True)
class DunnettResult:
    """One arm against the control.

    Attributes:
        estimate: the difference of the means over seeds.
        interval: its simultaneous 95% interval.
        p: two-sided, corrected for the number of arms.
    """

    estimate: float
    interval: Interval
    p: float


def dunnett(
    arms: Mapping[str, Sequence[float]], control: Sequence[float], *, seed: int | None
) -> dict[str, DunnettResult]:
    """Return Dunnett's test of every arm against the control.

    Args:
        arms: for each arm, a value for each seed.
        control: the values of the arm that the others are compared with.
        seed: the seed of the integration by random numbers.

    Returns:
        A result for each arm; none if no value repeats, so that there is no variance to test with, or if SciPy found
        no interval in ``ATTEMPTS`` attempts.
    """
    samples = [np.asarray(values, dtype=np.float64) for values in arms.values()]
    if not samples or all(len(values) < 2 for values in [*samples, control]):
        return {}
    if all(np.ptp(values) == 0 for values in [*samples, np.asarray(control)]):
        return {}
    found = bounds = None
    generator = np.random.default_rng(seed)
    for _ in range(ATTEMPTS):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            found = stats.dunnett(*samples, control=np.asarray(control), rng=generator)
            try:
                bounds = found.confidence_interval(1 - LEVEL)
                break
            except UserWarning:  # the search for the interval did not converge; it depends on the random numbers
                continue
    if found is None or bounds is None:
        return {}
    return {
        label: DunnettResult(float(values.mean() - np.mean(control)), Interval(float(low), float(high)), float(p))
        for label, values, low, high, p in zip(arms, samples, bounds.low, bounds.high, found.pvalue, strict=True)
    }
