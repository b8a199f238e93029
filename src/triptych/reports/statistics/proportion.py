"""Intervals of proportions."""

from __future__ import annotations

from scipy.stats import binomtest


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95% interval of a proportion by Wilson 1927, 0 to 1."""
    low, high = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    return float(low), float(high)
