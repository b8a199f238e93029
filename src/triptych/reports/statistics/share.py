"""A share of independent cases, with its interval, and the difference of two."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import stats

from triptych.reports.statistics.difference import LEVEL, Interval


@dataclass(frozen=True)
class Share:
    """A number of cases out of a total.

    Attributes:
        count: number of cases.
        total: number of those that could have been.
    """

    count: int
    total: int

    def __str__(self) -> str:
        return f"{self.count} of {self.total}" if self.total else "–"

    @property
    def value(self) -> float:
        """The share; NaN without cases that could have been."""
        return self.count / self.total if self.total else math.nan

    def interval(self, level: float = LEVEL) -> Interval:
        """Return Wilson's interval, which misses the true share with a probability of about ``level``.

        E. B. Wilson 1927, Probable inference, the law of succession, and statistical inference, JASA 22.
        """
        if not self.total:
            return Interval(0.0, 1.0)
        bounds = stats.binomtest(self.count, self.total).proportion_ci(1 - level, method="wilson")
        return Interval(float(bounds.low), float(bounds.high))

    def minus(self, other: Share, level: float = LEVEL) -> Interval:
        """Return the interval of the difference from another share, made of Wilson's two intervals.

        R. G. Newcombe 1998, Interval estimation for the difference between independent proportions, Statistics in
        Medicine 17, method 10. Without cases the interval is that of no knowledge.
        """
        if not self.total or not other.total:
            return Interval(-1.0, 1.0)
        ours, theirs, estimate = self.interval(level), other.interval(level), self.value - other.value
        return Interval(
            estimate - math.hypot(self.value - ours.low, theirs.high - other.value),
            estimate + math.hypot(ours.high - self.value, other.value - theirs.low),
        )
