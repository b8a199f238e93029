"""How far an exported model agrees with the run it comes from."""

from __future__ import annotations

from dataclasses import dataclass

FOLDER = "FOLDER"
"""What stands for the path of the export in a command that uses it."""


@dataclass(frozen=True)
class Comparison:
    """Comparison of a run and its export over the same sentences.

    Attributes:
        sentences: number of sentences compared.
        same: number of sentences that both translate into the same pieces.
        search: how both translated, as in "with the run's search".
        difference: largest difference, in nats, between the log-probabilities that they give to the run's translations.
        command: words of a command that uses the export, with ``FOLDER`` for its path; None for one that is a run.
    """

    sentences: int
    same: int
    search: str
    difference: float
    command: list[str] | None = None
