"""Say now and then how far long work on many lines, or on one long line, has come."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from triptych.decoding.beams import Beams
from triptych.decoding.search import Candidates

logger = logging.getLogger(__name__)

SECONDS = 10.0
"""Least time without a message before the first one, and between two."""


class Progress:
    """Log how many lines are done; or within a batch that takes long by itself, how many tokens its search has found.

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
        self._quiet_since = self._batch_since = clock()

    def start_batch(self) -> None:
        """Take notice that a batch begins."""
        self._batch_since = self.clock()

    def step(self, beams: Beams, candidates: Candidates, extended: Beams) -> None:
        """Take notice of a step of a search, as its ``on_step``."""
        now = self.clock()
        if now - max(self._quiet_since, self._batch_since) < SECONDS:
            return
        found, most = extended.tokens.shape[2] - 1, int(beams.limit.max())
        others = f"; {self._lines()} are done" if self.done else ""
        self._say(f"searching: {found:,} tokens of at most {most:,}{others}", now)

    def finish(self, lines: int) -> None:
        """Count lines that are done."""
        self.done += lines
        now = self.clock()
        if lines and now - self._quiet_since >= SECONDS and self.done != self.total:
            self._say(f"{self.work}: {self._lines()}", now)

    def _lines(self) -> str:
        return f"{self.done:,} lines" if self.total is None else f"{self.done:,} of {self.total:,} lines"

    def _say(self, text: str, now: float) -> None:
        self._quiet_since = now
        logger.info(text)
