"""How far an exported model agrees with the run it comes from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Comparison:
    """Comparison of a run and its export over the same sentences.

    Attributes:
        sentences: number of sentences compared.
        same: number of sentences that both translate into the same pieces.
        search: how both translated, as in "with the run's search".
        difference: largest difference, in nats, between the log-probabilities that they give to the run's translations.
        command: gives the words of a command that uses the export, given its folder; None for an export that is a run.
    """

    sentences: int
    same: int
    search: str
    difference: float
    command: Callable[[Path], list[str]] | None = None


def largest_difference(ones: Sequence[float], others: Sequence[float]) -> float:
    """Return the largest difference of two numbers of a pair; infinity if one of any pair is no finite number."""
    differences = [abs(one - other) for one, other in zip(ones, others, strict=True)]
    return max(differences) if all(map(math.isfinite, differences)) else math.inf
