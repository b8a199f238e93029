"""The difference of two arms with its interval, when both the test sentences and the seeds are samples.

Δ ± t · sqrt(variance of sentences + variance of seeds), where t has the degrees of freedom of Satterthwaite 1946 (An
approximate distribution of estimates of variance components, Biometrics Bulletin 2). With k_a and k_b seeds, the
variance of seeds is s² · (1/k_a + 1/k_b), or s_a²/k_a + s_b²/k_b where arms differ in their variance (Welch 1947).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from scipy import optimize, stats

from triptych.reports.statistics.seeds import SeedVariance

LEVEL = 0.05
"""Probability that any interval of a report in one measure misses its true difference."""
POWER = 0.8
"""Probability with which a design should find a difference."""
MOST_SEEDS = 100
"""Largest number of seeds that a plan considers."""


@dataclass(frozen=True)
class Interval:
    """The bounds of a difference, in the measure's unit."""

    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """The difference of two arms in one measure, and what it would be in other samples.

    Attributes:
        estimate: the difference of the means over seeds.
        counts: number of seeds of each arm.
        seeds: the variance between seeds, one for both arms, or one of each.
        sentence_variance: variance of the estimate between samples of test sentences; 0 if it is not known.
        sentences: number of test sentences; None if the variance between samples of them is not known.
        comparisons: number of differences that are judged together (Bonferroni).
    """

    estimate: float
    counts: tuple[int, int]
    seeds: tuple[SeedVariance, ...]
    sentence_variance: float = 0.0
    sentences: int | None = None
    comparisons: int = 1

    @property
    def standard_error(self) -> float:
        """The standard deviation of the estimate over samples of sentences and seeds."""
        return math.sqrt(self.sentence_variance + sum(variance for variance, _ in self._of_seeds))

    @property
    def degrees(self) -> float:
        """Satterthwaite's degrees of freedom; infinite if nothing varies."""
        parts: list[tuple[float, float]] = [*self._of_seeds]
        if self.sentences is not None:
            parts.append((self.sentence_variance, self.sentences - 1))
        below = sum(variance**2 / degrees for variance, degrees in parts)
        return self.standard_error**4 / below if below else math.inf

    @property
    def interval(self) -> Interval:
        """The interval that, with the intervals of all other comparisons, holds with a probability of 1 - ``LEVEL``."""
        half = self._quantile(1 - self._level / 2) * self.standard_error
        return Interval(self.estimate - half, self.estimate + half)

    def is_within(self, margin: float) -> bool:
        """Return whether two one-sided tests show that the true difference is smaller than a margin (Schuirmann 1987).

        It is so if the interval at twice the level lies between -margin and margin. Where nothing varies, as between
        two models with a BLEU of 0, nothing is shown.
        """
        if not self.standard_error:
            return False
        half = self._quantile(1 - self._level) * self.standard_error
        return abs(self.estimate) + half < margin

    def power(self, true: float) -> float:
        """Return the probability that the interval would exclude zero if the true difference were ``true``."""
        if not self.standard_error:
            return float(true != 0)
        critical, shift = self._quantile(1 - self._level / 2), abs(true) / self.standard_error
        if shift > 2 * critical + 20:  # where SciPy's noncentral t loses its digits, and the answer is 1
            return 1.0
        # The second term is the other side's tail. It is not cdf(-critical), which SciPy often cannot compute.
        return float(stats.nct.sf(critical, self.degrees, shift) + stats.nct.sf(critical, self.degrees, -shift))

    def smallest_detectable(self) -> float:
        """Return the smallest true difference that this design would find with a probability of ``POWER``."""
        if not self.standard_error:
            return 0.0
        most = (2 * self._quantile(1 - self._level / 2) + 20) * self.standard_error
        return float(optimize.brentq(lambda true: self.power(true) - POWER, 0, most))

    def seeds_needed(self, true: float) -> int | None:
        """Return how many seeds each arm needs to find a true difference with a probability of ``POWER``.

        The variances are taken to stay as they are.

        Returns:
            At least 2. None if ``MOST_SEEDS`` are not enough, as when the test set has too few sentences.
        """
        counts = range(2, MOST_SEEDS + 1)
        if self._with_seeds(MOST_SEEDS).power(true) < POWER:
            return None
        low, high = 0, len(counts) - 1
        while low < high:
            middle = (low + high) // 2
            enough = self._with_seeds(counts[middle]).power(true) >= POWER
            low, high = (low, middle) if enough else (middle + 1, high)
        return counts[low]

    @property
    def _level(self) -> float:
        return LEVEL / self.comparisons

    @property
    def _of_seeds(self) -> list[tuple[float, int]]:
        """The parts of the estimate's variance that are due to seeds, each with its degrees of freedom."""
        shares = [1 / count for count in self.counts]
        weights = [sum(shares)] if len(self.seeds) == 1 else shares
        return [(one.variance * weight, one.degrees) for one, weight in zip(self.seeds, weights, strict=True)]

    def _quantile(self, probability: float) -> float:
        degrees = self.degrees
        return float(stats.norm.ppf(probability) if math.isinf(degrees) else stats.t.ppf(probability, degrees))

    def _with_seeds(self, count: int) -> Difference:
        """Return the difference as it would be if every arm had ``count`` seeds."""
        seeds = tuple(replace(one, degrees=one.arms * (count - 1)) for one in self.seeds)
        return replace(self, counts=(count, count), seeds=seeds)
