"""How much a measure varies between trainings that differ in their seed alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

UNEQUAL = 0.05
"""Level of the test for whether arms differ in their variance."""
FEWEST = 3
"""Smallest number of seeds of every arm with which arms can have variances of their own; two tell next to nothing."""


@dataclass(frozen=True)
class SeedVariance:
    """The variance of a measure between trainings that differ in their seed alone.

    Attributes:
        variance: in the square of the measure's unit.
        degrees: its degrees of freedom, the sum over arms of seeds - 1.
        arms: the number of arms, of at least two seeds, that it is pooled over; arms of the same trainings are one.
    """

    variance: float
    degrees: int
    arms: int


@dataclass(frozen=True)
class SeedVariances:
    """The variances between seeds in a report.

    Attributes:
        own: of each arm with at least two seeds, unless it is zero, as that of a BLEU of 0: it says nothing of others.
        pooled: over all of them; zero if no arm varies.
        unequal: whether the arms have enough seeds, and Bartlett's test finds that they differ in their variance.
    """

    own: Mapping[str, SeedVariance]
    pooled: SeedVariance
    unequal: bool

    def between(self, one: str, other: str) -> tuple[SeedVariance, ...]:
        """Return the variances that the difference of two arms has.

        Where arms are alike in their variance, it is the pooled one, for both arms. Else it is that of each arm; an arm
        without one has the pooled one.
        """
        return tuple(self.own.get(arm, self.pooled) for arm in (one, other)) if self.unequal else (self.pooled,)


def seed_variances(
    arms: Mapping[str, Sequence[float]], trainings: Mapping[str, Hashable] | None = None
) -> SeedVariances | None:
    """Return the variances between seeds; None if no arm has two.

    Args:
        arms: for each arm, a value for each seed.
        trainings: for each arm, what stands for its trainings. Arms that share theirs, such as searches of one model,
            count as one, with the mean of their variances. By default no arms do.
    """
    own = {name: _variance(values) for name, values in arms.items() if len(values) > 1}
    if not own:
        return None
    groups: dict[Hashable, list[SeedVariance]] = defaultdict(list)
    for name, one in own.items():
        groups[(name if trainings is None else trainings[name]), one.degrees].append(one)
    trained = [
        SeedVariance(float(np.mean([one.variance for one in group])), group[0].degrees, 1) for group in groups.values()
    ]
    varying = {name: one for name, one in own.items() if one.variance}
    trained_varying = [one for one in trained if one.variance]
    return SeedVariances(varying, pool(trained_varying or trained), variances_differ(trained_varying))


def pool_seeds(arms: Iterable[Sequence[float]]) -> SeedVariance | None:
    """Return the variance between seeds, pooled over all arms with at least two; None if there is no such arm.

    Args:
        arms: for each arm, a value for each seed.
    """
    found = [_variance(values) for values in arms if len(values) > 1]
    return pool(found) if found else None


def pool(found: Sequence[SeedVariance]) -> SeedVariance:
    """Return one variance for several: their mean by degrees of freedom."""
    degrees = sum(one.degrees for one in found)
    squares = sum(one.variance * one.degrees for one in found)
    return SeedVariance(squares / degrees, degrees, sum(one.arms for one in found))


def variances_differ(found: Sequence[SeedVariance]) -> bool:
    """Return whether variances differ by more than chance, at the level ``UNEQUAL`` (Bartlett 1937).

    It takes the values for normal. With fewer than ``FEWEST`` seeds of an arm it is not tested, and they do not.

    Args:
        found: variances above zero.
    """
    if len(found) < 2 or any(one.degrees < FEWEST - 1 for one in found):
        return False
    pooled = pool(found)
    inverse = sum(1 / one.degrees for one in found) - 1 / pooled.degrees
    logs = sum(one.degrees * math.log(pooled.variance / one.variance) for one in found)
    statistic = logs / (1 + inverse / (3 * (len(found) - 1)))
    return bool(stats.chi2.sf(statistic, len(found) - 1) < UNEQUAL)


def _variance(values: Sequence[float]) -> SeedVariance:
    return SeedVariance(float(np.var(np.asarray(values, np.float64), ddof=1)), len(values) - 1, 1)
