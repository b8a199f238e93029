"""Does a small experiment predict a large one: orders that agree, and differences that stand out from the seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import stats

from triptych.reports.statistics.difference import LEVEL, Interval
from triptych.reports.statistics.seeds import SeedVariance
from triptych.reports.statistics.share import Share


@dataclass(frozen=True)
class Agreement:
    """Pairs of arms that two experiments order alike.

    Attributes:
        alike: number of pairs in the same order in both.
        pairs: number of pairs that neither experiment ties.
    """

    alike: int
    pairs: int

    @property
    def share(self) -> float:
        """Decision accuracy (Magnusson et al. 2025, DataDecide, arXiv 2504.11393); NaN without pairs."""
        return self.alike / self.pairs if self.pairs else math.nan

    @property
    def interval(self) -> Interval:
        """Wilson's 95% interval of the share. It takes pairs for independent, although they share arms."""
        return Share(self.alike, self.pairs).interval()

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(self.alike + other.alike, self.pairs + other.pairs)


def order_pairs(values: Mapping[str, float], *, higher_is_better: bool) -> dict[tuple[str, str], bool]:
    """Return for each pair of arms, in alphabetical order, whether the first is better; ties are left out.

    Args:
        values: the value of each arm.
        higher_is_better: whether a higher value is better.
    """
    return {
        (one, other): (values[one] > values[other]) == higher_is_better
        for one, other in combinations(sorted(values), 2)
        if values[one] != values[other]
    }


def decision_accuracy(small: Mapping[tuple[str, str], bool], large: Mapping[tuple[str, str], bool]) -> Agreement:
    """Count the pairs of arms that two experiments order alike.

    Args:
        small: ``order_pairs`` of one experiment.
        large: that of the other. Pairs that only one of the two orders are left out.
    """
    shared = [pair for pair in small if pair in large]
    return Agreement(sum(small[pair] == large[pair] for pair in shared), len(shared))


@dataclass(frozen=True)
class SignalToNoise:
    """Spread of arms over spread of seeds: how well a measure tells the arms of a study apart.

    Attributes:
        ratio: standard deviation of the arms' means, divided by that of a single seed around its arm's mean.
        interval: its 95% interval.
    """

    ratio: float
    interval: Interval


def signal_to_noise(arms: Sequence[Sequence[float]], seeds: SeedVariance | None) -> SignalToNoise | None:
    """Compare the spread of arms with the spread of seeds.

    If arms are a normal sample, the ratio of the two variances, divided by its expectation, has an F distribution (the
    one-way random-effects model). Its quantiles give the interval.

    Args:
        arms: for each arm, a value for each seed.
        seeds: the variance between seeds.

    Returns:
        None with fewer than two arms, or if no seeds repeat or differ.
    """
    means = [float(np.mean(values)) for values in arms if len(values)]
    if seeds is None or not seeds.variance or len(means) < 2:
        return None
    squared = float(np.var(means, ddof=1)) / seeds.variance
    low, high = (
        math.sqrt(squared / float(stats.f.ppf(p, len(means) - 1, seeds.degrees))) for p in (1 - LEVEL / 2, LEVEL / 2)
    )
    return SignalToNoise(math.sqrt(squared), Interval(low, high))
