"""Ranges of numbers as annotations: a constructor's ``beam_size: Beam`` says what its key in the configuration may be.

``config/types.py`` reads them. Bounds that no sensible value reaches are there against slips of the keyboard: a beam of
a billion would ask for terabytes, and a billion layers would never be built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Range:
    """Numbers from ``low``, which ``above`` leaves out, to ``high``, which ``below`` leaves out."""

    low: float
    high: float
    above: bool = False
    below: bool = False

    def __contains__(self, value: float) -> bool:
        return (self.low < value if self.above else self.low <= value) and (
            value < self.high if self.below else value <= self.high
        )

    def __str__(self) -> str:
        upper = (
            f" and {'below' if self.below else 'at most'} {self.high:,}"
            if self.high != LARGEST and self.high < 1e18
            else ""
        )
        return f"{'above' if self.above else 'of at least'} {self.low:,}{upper}"


Count = Annotated[int, Range(1, LARGEST)]
Whole = Annotated[int, Range(0, LARGEST)]
Amount = Annotated[int, Range(1, 2**63 - 1)]
"""Tokens of a batch, steps between validations: any positive integer."""
Size = Annotated[int, Range(1, 2**24)]
"""Features of a vector, heads, positions."""
Layers = Annotated[int, Range(1, 1_000)]
Sentences = Annotated[int, Range(1, 10_000_000)]
"""Sentence pairs of a split that is generated in memory."""
Pieces = Annotated[int, Range(1, 10_000_000)]
Seed = Annotated[int, Range(0, 2**32 - 1)]
LARGEST_BEAM = 10_000
Beam = Annotated[int, Range(1, LARGEST_BEAM)]
Length = Annotated[int, Range(0, 100_000)]
"""Length of a translation, in tokens."""
Factor = Annotated[float, Range(0, 100)]
NonNegative = Annotated[float, Range(0, 1e30)]
Positive = Annotated[float, Range(0, 1e30, above=True)]
Probability = Annotated[float, Range(0, 1, below=True)]
Share = Annotated[float, Range(0, 1)]
HeldOut = Annotated[float, Range(0, 1, above=True, below=True)]
"""Share of the training pairs that becomes another split."""
