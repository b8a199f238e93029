"""Validation losses of arms that are read at equal amounts of training, instead of each at its end.

A run is read at the lowest loss that a single checkpoint had reached by then. Between two validations the loss is
interpolated linearly. Two arms that are both read at their ends are compared by the weights that they are scored with,
which are often averages; within a training there are none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from triptych.config.equal import FLOPS, SECONDS, TOKENS
from triptych.reports.stored_run import StoredRun

NEAR = 0.01
"""Largest relative distance between an amount and a training's end at which its end is read: seeds differ."""
MOST_RATES = 2.0
"""Ratio of two learning rates, each as a share of its own peak, up to which losses within trainings are compared."""
MOST_UNEQUAL = 0.05
"""Largest relative difference in parameters of models of equal size: each is within 2% of a reference."""


@dataclass(frozen=True)
class Course:
    """The course of one training: for each validation, in order, a figure in each sequence.

    Attributes:
        spent: what had been spent by then, for each meaning of equal that is known of the run.
        losses: validation loss in nats a token.
        rates: learning rate, as a share of the highest one; None if it was not logged.
        scored: validation loss of the weights that the run is scored with; None if it is not known.
    """

    spent: Mapping[str, Sequence[float]]
    losses: Sequence[float]
    rates: Sequence[float] | None
    scored: float | None = None


@dataclass(frozen=True)
class Reading:
    """A training, read at some amount.

    Attributes:
        loss: the lowest validation loss of a single checkpoint so far, in nats a token.
        rate: learning rate there, as a share of the highest one; None if it was not logged.
        at_end: whether it was read at its end.
        scored: validation loss of the weights that it is scored with at its end; None if it is not known.
    """

    loss: float
    rate: float | None
    at_end: bool
    scored: float | None = None


@dataclass(frozen=True)
class ArmsRead:
    """The arms, read under one meaning of equal, or under several that come to the same.

    Attributes:
        meanings: their names.
        arms: the readings of each arm, one a seed; none if it was not run, or not validated so early.
        amount: how much each has spent, in the unit of the meaning; None if each was read at its end.
        excluded: pairs of arms that are not equal in this sense.
    """

    meanings: tuple[str, ...]
    arms: Mapping[str, tuple[Reading, ...]]
    amount: float | None = None
    excluded: frozenset[frozenset[str]] = frozenset()

    def losses(self, arm: str) -> list[float]:
        """Return the loss of each seed of an arm, by its single checkpoints."""
        return [reading.loss for reading in self.arms[arm]]

    def scored(self, arm: str) -> list[float]:
        """Return the loss of the weights that each seed of an arm is scored with; empty if that of one is not known."""
        found = [reading.scored for reading in self.arms[arm]]
        return [loss for loss in found if loss is not None] if None not in found else []

    def at_ends(self, *arms: str) -> bool:
        """Return whether arms were read at their ends, all seeds of each."""
        return all(reading.at_end for arm in arms for reading in self.arms[arm])

    def share_rates(self, one: str, other: str) -> bool:
        """Return whether two arms can be compared: both at their ends, or at similar shares of their peak rates."""
        if self.at_ends(one, other):
            return True
        if any(reading.rate is None for arm in (one, other) for reading in self.arms[arm]):
            return False
        rates = [fmean(reading.rate or 0.0 for reading in self.arms[arm]) for arm in (one, other)]
        return max(rates) <= MOST_RATES * min(rates)


def course_of(run: StoredRun, tokens_per_second: float | None = None) -> Course | None:
    """Return the course of a finished run; None if it has logged no validation loss.

    Args:
        run: the run.
        tokens_per_second: speed of such a run alone on a machine; None if it was not measured.

    Raises:
        UserError: the metrics cannot be read.
    """
    curve = run.curve("loss")
    if curve.empty:
        return None
    (rates,) = run.logged("train/lr")
    shares = None
    if len(rates):
        shares = (np.interp(curve["step"], rates["step"], rates["value"]) / rates["value"].max()).tolist()
    tokens = curve["tokens"].to_numpy()
    spent = {TOKENS: tokens, FLOPS: curve["flops"].to_numpy()}
    if tokens_per_second is not None:
        spent[SECONDS] = tokens / tokens_per_second
    known = {meaning: amounts.tolist() for meaning, amounts in spent.items() if not np.isnan(amounts).any()}
    scored = ((run.result or {}).get("validation") or {}).get("loss")
    return Course(known, curve["value"].tolist(), shares, scored)


def read_course(course: Course, meaning: str, amount: float) -> Reading | None:
    """Return a training as it was when it had spent an amount; None if it was first validated later.

    Args:
        course: of the training.
        meaning: what ``amount`` is of: a key of ``course.spent``.
        amount: in the unit of the meaning.
    """
    spent, lowest = course.spent[meaning], np.minimum.accumulate(course.losses)
    if spent[-1] <= (1 + NEAR) * amount:
        return read_end(course)
    if spent[0] > amount:
        return None
    rate = None if course.rates is None else float(np.interp(amount, spent, course.rates))
    return Reading(float(np.interp(amount, spent, lowest)), rate, at_end=False, scored=course.scored)


def read_end(course: Course) -> Reading:
    """Return a training as it was at its end."""
    rate = None if course.rates is None else course.rates[-1]
    return Reading(min(course.losses), rate, at_end=True, scored=course.scored)


def read_ends(name: str, courses: Mapping[str, Sequence[Course]]) -> ArmsRead:
    """Return the arms, each read at its end.

    Args:
        name: of the meaning under which they are equal.
        courses: for each arm, the course of each seed.
    """
    return ArmsRead((name,), {arm: tuple(map(read_end, each)) for arm, each in courses.items()})


def read_equal(meaning: str, courses: Mapping[str, Sequence[Course]]) -> ArmsRead:
    """Return the arms, each read at the amount that the one that spent least had spent at its end.

    Args:
        meaning: ``TOKENS``, ``FLOPS`` or ``SECONDS``.
        courses: for each arm, the course of each seed.
    """
    known = {arm: [one for one in each if meaning in one.spent] for arm, each in courses.items()}
    ends = [fmean(course.spent[meaning][-1] for course in each) for each in known.values() if each]
    amount = min(ends, default=0.0)
    found = {arm: [read_course(course, meaning, amount) for course in each] for arm, each in known.items()}
    arms = {arm: () if None in each else tuple(one for one in each if one) for arm, each in found.items()}
    return ArmsRead((meaning,), arms, amount)


def are_equal_sizes(sizes: Sequence[int]) -> bool:
    """Return whether numbers of parameters differ by at most ``MOST_UNEQUAL``."""
    return max(sizes) <= (1 + MOST_UNEQUAL) * min(sizes)


def merge_alike(readings: Sequence[ArmsRead]) -> list[ArmsRead]:
    """Return the readings, those that read every arm at the same place as one: their comparisons are the same."""
    merged: list[ArmsRead] = []
    for reading in readings:
        alike = [i for i, one in enumerate(merged) if (one.arms, one.excluded) == (reading.arms, reading.excluded)]
        if alike:
            first = merged[alike[0]]
            merged[alike[0]] = replace(first, meanings=(*first.meanings, *reading.meanings))
        else:
            merged.append(reading)
    return merged
