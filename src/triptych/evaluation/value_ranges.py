"""Ranges of whole numbers between given bounds, as tables show them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple


class ValueRange(NamedTuple):
    """The numbers from ``low`` to ``high - 1``; without an end if ``high`` is None."""

    low: int
    high: int | None

    @property
    def label(self) -> str:
        if self.high is None:
            return f"{self.low}+"
        return str(self.low) if self.high == self.low + 1 else f"{self.low}-{self.high - 1}"

    def has(self, number: int) -> bool:
        """Whether a number lies in the range."""
        return self.low <= number and (self.high is None or number < self.high)


def value_ranges(edges: Sequence[int]) -> list[ValueRange]:
    """Return the ranges between ascending positive bounds: (1, 6) makes 0, 1-5 and 6+."""
    bounds = [0, *edges]
    return [*(ValueRange(low, high) for low, high in pairwise(bounds)), ValueRange(bounds[-1], None)]
