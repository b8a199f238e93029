"""A study of scaling: its arms as series of points of loss over training FLOPs, their frontiers and power laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import numpy as np
from numpy.typing import ArrayLike, NDArray

from triptych.reports.arm_rows import ArmRow
from triptych.reports.equal_amounts import are_equal_sizes
from triptych.reports.measures import Measure
from triptych.reports.statistics import power_law
from triptych.reports.statistics.power_law import PowerLaws
from triptych.reports.statistics.randomization import random_seed
from triptych.reports.statistics.trend import Trend, fit_trend

LEVELS = (2.5, 97.5)
"""Percentiles of resamples that an interval reaches from and to."""


@dataclass(frozen=True)
class Point:
    """An arm of a series.

    Attributes:
        row: the arm.
        others: its overrides without the seed and the series.
        size: non-embedding parameters.
        flops: of its training, the mean over seeds.
        losses: by seed.
    """

    row: ArmRow
    others: frozenset[str]
    size: int
    flops: float
    losses: dict[int | None, float]

    @property
    def loss(self) -> float:
        """The mean over seeds."""
        return fmean(self.losses.values())


class Scaling:
    """The series of a study of scaling.

    Args:
        rows: the arms.
        key: of the override whose values name the series.
        measure: a loss, which lower is better in.

    Attributes:
        series: the points of each series, by FLOPs, in the order of the arms. Arms without result have no point.
    """

    def __init__(self, rows: Sequence[ArmRow], key: str, measure: Measure) -> None:
        self.measure = measure
        self.series: dict[str, list[Point]] = {}
        for row in rows:
            runs = [run for run in row.finished if measure.value(run) is not None]
            named = [one for run in runs[:1] for one in run.overrides if one.startswith(f"{key}=")]
            if not named:
                continue
            point = Point(
                row=row,
                others=frozenset(one for one in runs[0].overrides if not one.startswith((f"{key}=", "seed="))),
                size=int((runs[0].result or {})["model"]["parameters_non_embedding"]),
                flops=fmean((run.result or {})["train"]["flops"] for run in runs),
                losses={run.seed: value for run in runs if (value := measure.value(run)) is not None},
            )
            self.series.setdefault(named[0].removeprefix(f"{key}="), []).append(point)
        for points in self.series.values():
            points.sort(key=lambda point: point.flops)

    @cached_property
    def frontiers(self) -> dict[str, list[Point]]:
        """The arms of each series that no arm of it with as few FLOPs or fewer equals or betters."""
        return {
            name: [points[i] for i in power_law.frontier([p.flops for p in points], [p.loss for p in points])]
            for name, points in self.series.items()
        }

    @cached_property
    def fitted(self) -> list[str]:
        """The series with enough points on their frontier for a power law."""
        return [name for name, points in self.frontiers.items() if len(points) >= power_law.FEWEST]

    @cached_property
    def laws(self) -> PowerLaws | None:
        """The power laws of the frontiers of ``fitted``, in its order; None if there is none."""
        return power_law.fit(self._points) if self.fitted else None

    @cached_property
    def resampled(self) -> list[PowerLaws]:
        """The power laws of resamples."""
        return power_law.resample(self._points, self.laws, random_seed()) if self.laws else []

    @cached_property
    def misfit(self) -> float:
        """How far the losses lie from their curves, as a share: the root mean square (0 without laws)."""
        return power_law.misfit(self._points, self.laws) if self.laws else 0.0

    @property
    def _points(self) -> list[power_law.Points]:
        """The FLOPs and losses of each fitted series, a point for each arm on its frontier.

        The mean over seeds is one point: an arm's distance from the law is common to its seeds, and counted for each of
        them it would make the intervals too narrow.
        """
        return [
            ([point.flops for point in self.frontiers[name]], [point.loss for point in self.frontiers[name]])
            for name in self.fitted
        ]

    @property
    def shared_range(self) -> tuple[float, float] | None:
        """The FLOPs that the frontiers of all fitted series have in common; None if there are none."""
        ends = [(self.frontiers[name][0].flops, self.frontiers[name][-1].flops) for name in self.fitted]
        low, high = max((low for low, _ in ends), default=0.0), min((high for _, high in ends), default=0.0)
        return (low, high) if low < high else None

    def trend(self, one: str, other: str) -> Trend | None:
        """Return how the gap in loss, ``one`` minus ``other``, changes for each doubling of the size.

        Compared are, of each size, the arms with the most FLOPs that differ in their series alone, by the mean over the
        seeds that both have. None with fewer than three sizes.
        """
        theirs = {point.others: point for point in self.series[other]}
        longest: dict[int, tuple[Point, Point]] = {}
        for point in self.series[one]:  # by FLOPs: the last one stays
            twin = theirs.get(point.others)
            if twin and are_equal_sizes([point.size, twin.size]):
                longest[point.size] = (point, twin)
        gaps = [
            (np.log2(point.size), fmean(point.losses[seed] - twin.losses[seed] for seed in shared))
            for point, twin in longest.values()
            if (shared := point.losses.keys() & twin.losses.keys())
        ]
        return fit_trend(*zip(*gaps, strict=True)) if gaps else None


def interval(resampled: Sequence[ArrayLike]) -> NDArray[np.float64]:
    """Return the lower and upper ends of 95% intervals, (2, ...), of values (draws, ...)."""
    return np.percentile(np.array(resampled), LEVELS, axis=0)
