"""Say now and then how far long work on many lines, or on one long line, has come."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Lock

from triptych.decoding.beams import Beams
from triptych.decoding.search import Candidates, OnStep

logger = logging.getLogger(__name__)

SECONDS = 10.0
"""Least time without a message before the first one, and between two."""


class Progress:
    """Log how many lines are done; or within a batch that takes long by itself, how many tokens its search has found.

    Batches may be translated by several threads at a time.

    Args:
        work: what is done, such as ``translating``.
        total: number of lines; None if it is not known.
        clock: gives seconds.
    """

    def __init__(self, work: str, total: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.work = work
        self.total = total
        self.clock = clock
        self.done = 0
        self._quiet_since = clock()
        self._lock = Lock()

    def start_batch(self) -> OnStep:
        """Take notice that a batch begins, and return what its search calls at each step."""
        began = self.clock()

        def step(beams: Beams, candidates: Candidates, extended: Beams) -> None:
            now = self.clock()
            if now - began < SECONDS:
                return
            found, most = extended.tokens.shape[2] - 1, int(beams.limit.max())
            with self._lock:
                others = f"; {self._lines()} are done" if self.done else ""
                self._say(f"searching: {found:,} tokens of at most {most:,}{others}", now)

        return step

    def finish(self, lines: int) -> None:
        """Count lines that are done."""
        with self._lock:
            self.done += lines
            if lines and self.done != self.total:
                self._say(f"{self.work}: {self._lines()}", self.clock())

    def _lines(self) -> str:
        return f"{self.done:,} lines" if self.total is None else f"{self.done:,} of {self.total:,} lines"

    def _say(self, text: str, now: float) -> None:
        """Log a message, unless the last one is too recent. The lock must be held."""
        if now - self._quiet_since >= SECONDS:
            self._quiet_since = now
            logger.info(text)
