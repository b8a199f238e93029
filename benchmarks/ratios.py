"""Ratios of speeds that were measured in turns, and how far they are known."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.stats import t

from benchmarks.paced import Reading

Readings = Mapping[str, Sequence[Reading]]
"""What each worker has done in a second of each of its turns."""

SETTLED = 0.04
"""Largest relative distance of an interval's ends from the ratio that counts as settled."""
RESAMPLES = 10_000


class Ratio(NamedTuple):
    """The geometric mean of the turns' ratios, and its 95% interval."""

    mean: float
    low: float
    high: float

    @property
    def is_settled(self) -> bool:
        return max(self.high / self.mean, self.mean / self.low) - 1 <= SETTLED  # so is the inverse then

    def __str__(self) -> str:
        return f"{self.mean:.2f} [{self.low:.2f}, {self.high:.2f}]"


def amounts(readings: Readings, name: str, key: str) -> list[float]:
    """Return one figure of a worker's readings, turn by turn."""
    return [reading[key] for reading in readings[name]]


def median(readings: Readings, name: str, key: str) -> float:
    return statistics.median(amounts(readings, name, key))


def ratio_of(readings: Readings, name: str, base: str, key: str) -> Ratio:
    """Return the ratio of a worker's speed to another's, by one figure of their readings."""
    return ratio(amounts(readings, name, key), amounts(readings, base, key))


def ratio(ours: Sequence[float], others: Sequence[float]) -> Ratio:
    """Return the ratio of two programs' speeds in the same turns, with its interval from a bootstrap over turns.

    The interval's ends are the expanded percentiles of Hesterberg (2015, "What Teachers Should Know About the
    Bootstrap"), as plain percentiles are too narrow for few turns.
    """
    logs = np.log(np.asarray(ours) / np.asarray(others))
    turns = len(logs)
    means = np.random.default_rng(0).choice(logs, (RESAMPLES, turns)).mean(axis=1)
    outside = NormalDist().cdf(math.sqrt(turns / (turns - 1)) * t.ppf(0.025, turns - 1))
    low, high = np.exp(np.quantile(means, [outside, 1 - outside]))
    return Ratio(float(np.exp(logs.mean())), float(low), float(high))
