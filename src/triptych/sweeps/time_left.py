"""How long a sweep still takes, by the progress of its own arms."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

LEAST_SHARE = 0.05
"""Share of an arm's steps from which its speed is known."""
LEAST_SECONDS = 10.0
"""Seconds of training from which an arm's speed is known."""


@dataclass
class _Arm:
    """An arm that runs or has run. ``first`` and ``last`` are the times of its progress, with the share done."""

    work: float
    started: float
    first: tuple[float, float] | None = None
    last: tuple[float, float] | None = None
    ended: float | None = None

    @property
    def resumed_at(self) -> float:
        """Share of the steps that was done when this process first heard of them."""
        return self.first[1] if self.first else 0.0

    @property
    def speed(self) -> float | None:
        """Share of the steps done in a second; None as long as it is not known."""
        if not self.first or not self.last:
            return None
        seconds, share = self.last[0] - self.first[0], self.last[1] - self.first[1]
        return share / seconds if seconds >= LEAST_SECONDS and share >= LEAST_SHARE else None

    @property
    def seconds(self) -> float | None:
        """Seconds that the arm takes from start to end; None as long as that is not known."""
        if self.ended is not None:
            return self.ended - self.started
        if self.first and self.speed:
            return self.first[0] - self.started + (1 - self.first[1]) / self.speed
        return None


class TimeLeft:
    """Estimate of the seconds until all arms of a sweep have ended.

    Arms that run go on at their own speed. Those that wait take as long for their work as the others on average.

    Args:
        work: of each arm, in any unit: FLOPs, or 1 where they are not known; 0 for an arm that does not train.
        jobs: arms at a time.
        now: clock, in seconds.
    """

    def __init__(self, work: Mapping[str, float], jobs: int = 1, now: Callable[[], float] = time.monotonic) -> None:
        self._waiting = dict(work)
        self._jobs, self._now = jobs, now
        self._running: dict[str, _Arm] = {}
        self._ended: list[_Arm] = []

    def start(self, arm: str) -> None:
        self._running[arm] = _Arm(self._waiting.pop(arm, 0.0), self._now())

    def progress(self, arm: str, step: int, steps: int) -> None:
        running, here = self._running[arm], (self._now(), step / max(steps, 1))
        running.first = running.first or here
        running.last = here

    def end(self, arm: str, *, finished: bool) -> None:
        """Count an arm as ended; one that has not finished says nothing of the others."""
        ended = self._running.pop(arm)
        ended.ended = self._now()
        if finished:
            self._ended.append(ended)

    def seconds(self) -> float | None:
        """Return the seconds left; None as long as nothing is known of an arm that is left."""
        pace, now = self._pace(), self._now()
        running = []
        for arm in self._running.values():
            if arm.last and arm.speed:
                running.append(max(0.0, (1 - arm.last[1]) / arm.speed - (now - arm.last[0])))
            elif pace is not None:
                running.append(max(0.0, pace * arm.work - (now - arm.started)))
            else:
                return None
        if pace is None and any(self._waiting.values()):
            return None
        waiting = [(pace or 0.0) * work for work in self._waiting.values()]
        return max([0.0, *running, (sum(running) + sum(waiting)) / self._jobs])

    def _pace(self) -> float | None:
        """Return the seconds that a unit of work takes, on average."""
        known = [*self._measured()]
        work = sum(work for _, work in known)
        return sum(seconds for seconds, _ in known) / work if work else None

    def _measured(self) -> Iterator[tuple[float, float]]:
        """Yield the seconds and the work of each arm, where both are known."""
        for arm in (*self._ended, *self._running.values()):
            done = arm.work * (1 - arm.resumed_at)
            if done and (seconds := arm.seconds) is not None:
                yield seconds, done


def in_words(seconds: float) -> str:
    """Return an estimate of seconds as text, no finer than it can be."""
    if seconds < 60:
        return "less than a minute left"
    if seconds < 100 * 60:
        return f"about {round(seconds / 60)} min left"
    return f"about {seconds / 3600:.0f} h left"
