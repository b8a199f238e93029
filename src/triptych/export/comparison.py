"""How far an exported model agrees with the run it comes from."""

from __future__ import annotations

from collections.abc import Callable
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
