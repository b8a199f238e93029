"""Numbers that change in training: the learning rate by step, and lambda by progress."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from triptych.errors import UserError, require_at_least


@dataclass(frozen=True, kw_only=True)
class Noam:
    """factor * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (Vaswani et al. 2017, equation 3)."""

    factor: float
    d_model: int
    warmup: int

    def __post_init__(self) -> None:
        require_at_least(0, "optimizer.schedule", factor=self.factor, warmup=self.warmup)
        require_at_least(1, "optimizer.schedule", d_model=self.d_model)

    def __call__(self, step: int, total: int) -> float:
        """The learning rate of the step-th of total steps, counted from 1."""
        return self.factor * self.d_model**-0.5 * min(step**-0.5, step * max(1, self.warmup) ** -1.5)


@dataclass(frozen=True, kw_only=True)
class InverseSquareRoot:
    """Linear to peak over the warm-up, then peak * sqrt(warmup / step)."""

    peak: float
    warmup: int

    def __post_init__(self) -> None:
        require_at_least(0, "optimizer.schedule", peak=self.peak, warmup=self.warmup)

    def __call__(self, step: int, total: int) -> float:
        """The learning rate of the step-th of total steps, counted from 1."""
        warmup = max(1, self.warmup)
        return self.peak * min(step / warmup, (warmup / step) ** 0.5)


@dataclass(frozen=True, kw_only=True)
class Cosine:
    """Linear to peak over the warm-up, then half a cosine to floor at the end (Loshchilov and Hutter 2017)."""

    peak: float
    floor: float
    warmup: int

    def __post_init__(self) -> None:
        require_at_least(0, "optimizer.schedule", peak=self.peak, floor=self.floor, warmup=self.warmup)

    def __call__(self, step: int, total: int) -> float:
        """The learning rate of the step-th of total steps, counted from 1."""
        if step <= self.warmup:
            return self.peak * step / self.warmup
        done = min(1.0, (step - self.warmup) / max(1, total - self.warmup))
        return self.floor + (self.peak - self.floor) * (1 + math.cos(math.pi * done)) / 2


@dataclass(frozen=True, kw_only=True)
class Constant:
    """Linear to peak over the warm-up, and there it stays."""

    peak: float
    warmup: int

    def __post_init__(self) -> None:
        require_at_least(0, "optimizer.schedule", peak=self.peak, warmup=self.warmup)

    def __call__(self, step: int, total: int) -> float:
        """The learning rate of the step-th of total steps, counted from 1."""
        return self.peak * min(1.0, step / max(1, self.warmup))


class Piecewise:
    """Straight lines between points (progress, value); level before the first and after the last.

    Raises:
        UserError: no point, a progress outside [0, 1] or out of order, a negative value.
    """

    def __init__(self, *, points: Sequence[Sequence[float]]) -> None:
        self.points = [(float(x), float(y)) for x, y in points]
        places = [x for x, _ in self.points]
        if (
            not places
            or places != sorted(places)
            or places[0] < 0
            or places[-1] > 1
            or min(y for _, y in self.points) < 0
        ):
            raise UserError(
                f"loss.autoencode.points={list(map(list, points))} must be [progress, weight] pairs, progress rising "
                "from 0 to 1, no weight negative."
            )

    def __call__(self, progress: float) -> float:
        """The value at a progress in [0, 1]."""
        left = right = self.points[0]
        for right in self.points:
            if right[0] >= progress:
                break
            left = right
        if left[0] >= progress or right[0] <= progress or left == right:
            return right[1] if right[0] <= progress else left[1]
        done = (progress - left[0]) / (right[0] - left[0])
        return left[1] + done * (right[1] - left[1])


class Decayed(Piecewise):
    """lambda_d: from 1 to alpha over the first beta of training, from alpha to 0 over the rest (Wang et al. 2021).

    Raises:
        UserError: alpha or beta outside [0, 1].
    """

    def __init__(self, *, alpha: float, beta: float) -> None:
        for key, value in (("alpha", alpha), ("beta", beta)):
            if not 0 <= value <= 1:
                raise UserError(f"loss.autoencode.{key}={value} must lie between 0 and 1.")
        super().__init__(points=[(0.0, 1.0), (beta, alpha), (1.0, 0.0)])
