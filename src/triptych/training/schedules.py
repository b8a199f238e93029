"""Schedules: the learning rate by optimizer step, and the loss's lambda by training progress."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from triptych.errors import UserError, require_at_least
from triptych.ranges import NonNegative, Share, Size, Whole


@dataclass(frozen=True, kw_only=True)
class Noam:
    """factor * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (Vaswani et al. 2017, equation 3).

    Args:
        factor: multiplier of the paper's formula, which has 1.
        d_model: width of the model.
        warmup: optimizer steps over which the learning rate rises linearly.

    Raises:
        UserError: ``factor`` or ``warmup`` is negative, or ``d_model`` less than 1.
    """

    factor: NonNegative
    d_model: Size
    warmup: Whole

    def __post_init__(self) -> None:
        require_at_least(0, "optimizer.schedule", factor=self.factor, warmup=self.warmup)
        require_at_least(1, "optimizer.schedule", d_model=self.d_model)

    def __call__(self, step: int, total: int) -> float:
        """Return the learning rate of an optimizer step, counted from 1, in a training of ``total`` steps."""
        return self.factor * self.d_model**-0.5 * min(step**-0.5, step * max(1, self.warmup) ** -1.5)


@dataclass(frozen=True, kw_only=True)
class InverseSquareRoot:
    """A linear rise to the peak over the warm-up, then peak * sqrt(warmup / step).

    Args:
        peak: highest learning rate.
        warmup: optimizer steps of the rise; 0 begins at the peak.

    Raises:
        UserError: an argument is negative.
    """

    peak: NonNegative
    warmup: Whole

    def __post_init__(self) -> None:
        require_at_least(0, "optimizer.schedule", peak=self.peak, warmup=self.warmup)

    def __call__(self, step: int, total: int) -> float:
        """Return the learning rate of an optimizer step, counted from 1, in a training of ``total`` steps."""
        warmup = max(1, self.warmup)
        return self.peak * min(step / warmup, (warmup / step) ** 0.5)


@dataclass(frozen=True, kw_only=True)
class Cosine:
    """A linear rise to the peak over the warm-up, then half a cosine down to the floor (Loshchilov and Hutter 2017).

    Args:
        peak: highest learning rate.
        floor: learning rate of the last step.
        warmup: optimizer steps of the rise; 0 for none.

    Raises:
        UserError: an argument is negative.
    """

    peak: NonNegative
    floor: NonNegative
    warmup: Whole

    def __post_init__(self) -> None:
        require_at_least(0, "optimizer.schedule", peak=self.peak, floor=self.floor, warmup=self.warmup)

    def __call__(self, step: int, total: int) -> float:
        """Return the learning rate of an optimizer step, counted from 1, in a training of ``total`` steps."""
        if step <= self.warmup:
            return self.peak * step / self.warmup
        done = min(1.0, (step - self.warmup) / max(1, total - self.warmup))
        return self.floor + (self.peak - self.floor) * (1 + math.cos(math.pi * done)) / 2


@dataclass(frozen=True, kw_only=True)
class Constant:
    """A linear rise to the peak over the warm-up, then the peak.

    Args:
        peak: highest learning rate.
        warmup: optimizer steps of the rise; 0 begins at the peak.

    Raises:
        UserError: an argument is negative.
    """

    peak: NonNegative
    warmup: Whole

    def __post_init__(self) -> None:
        require_at_least(0, "optimizer.schedule", peak=self.peak, warmup=self.warmup)

    def __call__(self, step: int, total: int) -> float:
        """Return the learning rate of an optimizer step, counted from 1, in a training of ``total`` steps."""
        return self.peak * min(1.0, step / max(1, self.warmup))


@dataclass(frozen=True, kw_only=True)
class Cooldown:
    """A linear rise to the peak, the peak, and a cooldown over the last share of the steps (Hägele et al. 2024).

    The rate of step s of S, with C = round(cooldown * S) steps in the cooldown (arXiv 2405.18392, "1-sqrt"):

        peak * min(1, s / warmup)                           for s <= S - C + 1
        that * (1 - sqrt((s - 1 - (S - C)) / C))            after it

    The first step of the cooldown still has the peak, and the last one a little more than 0. Until the cooldown begins
    the rate does not depend on S, so trainings of several budgets can share their first steps (``training.trunk``).

    Args:
        peak: highest learning rate.
        warmup: optimizer steps of the rise; 0 begins at the peak.
        cooldown: share of all steps that the cooldown takes; 0 for none.

    Raises:
        UserError: an argument is negative, or ``cooldown`` above 1.
    """

    peak: NonNegative
    warmup: Whole
    cooldown: Share

    def __post_init__(self) -> None:
        require_at_least(0, "optimizer.schedule", peak=self.peak, warmup=self.warmup, cooldown=self.cooldown)
        if self.cooldown > 1:
            raise UserError(f"optimizer.schedule.cooldown={self.cooldown} is a share of all steps; give at most 1.")

    def __call__(self, step: int, total: int) -> float:
        """Return the learning rate of an optimizer step, counted from 1, in a training of ``total`` steps."""
        rate = self.peak * min(1.0, step / max(1, self.warmup))
        before = self.steps_before(total)
        if step <= before + 1:
            return rate
        return rate * (1 - math.sqrt((step - 1 - before) / (total - before)))

    def steps_before(self, total: int) -> int:
        """Return how many of ``total`` optimizer steps come before the cooldown."""
        return total - round(self.cooldown * total)


class Piecewise:
    """A piecewise linear function of training progress, constant before its first point and after its last.

    Args:
        points: (progress, value) pairs in order of progress, which is 0 at the first step and 1 at the end.

    Raises:
        UserError: there is no point, a progress lies outside [0, 1] or is out of order, or a value is negative.
    """

    def __init__(self, *, points: Sequence[Sequence[float]]) -> None:
        self.points = [(float(x), float(y)) for x, y in points]
        positions = [x for x, _ in self.points]
        if (
            not positions
            or positions != sorted(positions)
            or positions[0] < 0
            or positions[-1] > 1
            or min(y for _, y in self.points) < 0
        ):
            raise UserError(
                f"loss.autoencode.points={list(map(list, points))} must be [progress, weight] pairs, progress rising "
                "from 0 to 1, no weight negative."
            )

    def __call__(self, progress: float) -> float:
        """Return the value at a progress in [0, 1]."""
        i = bisect_left([x for x, _ in self.points], progress)  # the first point at or after it
        if i == len(self.points):
            return self.points[-1][1]
        x, y = self.points[i]
        if i == 0 or x == progress:
            return y
        previous_x, previous_y = self.points[i - 1]
        return previous_y + (progress - previous_x) / (x - previous_x) * (y - previous_y)

    @property
    def is_constant(self) -> bool:
        """Whether the value is the same throughout training."""
        return len({y for _, y in self.points}) == 1


class Decayed(Piecewise):
    """The lambda_d of LM4MT (Wang et al. 2021), two lines that meet at (beta, alpha).

        lambda(p) = 1 - (1 - alpha) p / beta           for a progress p <= beta
        lambda(p) = alpha (1 - p) / (1 - beta)         after it

    Args:
        alpha: value where the two lines meet.
        beta: share of the training's steps at which they meet.

    Raises:
        UserError: ``alpha`` or ``beta`` lies outside [0, 1].
    """

    def __init__(self, *, alpha: Share, beta: Share) -> None:
        for key, value in (("alpha", alpha), ("beta", beta)):
            if not 0 <= value <= 1:
                raise UserError(f"loss.autoencode.{key}={value} must lie between 0 and 1.")
        super().__init__(points=[(0.0, 1.0), (beta, alpha), (1.0, 0.0)])
