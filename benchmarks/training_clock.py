"""Seconds of training, and the BLEU that was reached. Needs nothing but the standard library, as benchmarks.paced."""

from __future__ import annotations

import json
import time

MARK = "validated: "
"""Begins what ``report`` prints."""


class TrainingClock:
    """Runs while a model trains, and stands still while it validates and is saved."""

    def __init__(self) -> None:
        self._before, self._since = 0.0, time.perf_counter()
        self._began, self._runs = self._since, True

    @property
    def seconds(self) -> float:
        return self._before + (time.perf_counter() - self._since if self._runs else 0.0)

    def stop(self) -> None:
        self._before, self._runs = self.seconds, False

    def go_on(self) -> None:
        """Run again; nothing happens if it runs."""
        if not self._runs:
            self._since, self._runs = time.perf_counter(), True

    def report(self, updates: int, bleu: float) -> None:
        """Print a line for ``benchmarks.quality``."""
        everything = time.perf_counter() - self._began
        reached = {"updates": updates, "seconds": self.seconds, "with_validations": everything, "bleu": bleu}
        print(f"{MARK}{json.dumps(reached)}", flush=True)
