"""Processes that work when it is their turn and wait otherwise, so that a slow moment of the machine hits all alike.

A worker tells its ``Pace`` what each step has done, and is stopped there until its next turn. This needs nothing but
the standard library, so that a worker may live in the environment of another program.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

MARK = "paced: "
"""Begins what a worker says to the other side."""
Reading = dict[str, float]
"""What a worker has done in a second of its turn, by name."""


class Turn(NamedTuple):
    """How long a turn is. It ends when both the steps and the seconds are over."""

    untimed: int
    """Steps at its beginning that are not timed: the system may have reclaimed memory of the process that waited."""
    least: int
    """Timed steps, at least."""
    seconds: float
    """Seconds of timed steps, at least."""


class Pace:
    """Counts the steps of a worker, and stops it between its turns.

    Args:
        warmup: steps before the first turn.
    """

    def __init__(self, warmup: int) -> None:
        self._turns = self._steps(warmup)
        next(self._turns, None)

    def step(self, **done: float) -> bool:
        """Count what a step has done, wait if the turn is over, and return whether there are turns left."""
        try:
            self._turns.send(done)
        except StopIteration:
            return False
        return True

    def _steps(self, warmup: int) -> Generator[None, Mapping[str, float]]:
        for _ in range(warmup):
            yield
        _report({})
        for line in sys.stdin:
            turn = Turn(*json.loads(line))
            for _ in range(turn.untimed):
                yield
            done: Counter[str] = Counter()
            began, steps, seconds = time.perf_counter(), 0, 0.0
            while steps < turn.least or seconds < turn.seconds:
                done.update((yield))
                steps, seconds = steps + 1, time.perf_counter() - began
            _report({name: amount / seconds for name, amount in done.items()})


def _report(reading: Reading) -> None:
    print(f"{MARK}{json.dumps(reading)}", flush=True)


class Worker:
    """A process that works in turns. Leaving the context kills it, unless it has finished.

    Args:
        command: of a process that has a ``Pace``.
        turn: how long its turns are.
        **options: of ``subprocess.Popen``.

    Raises:
        RuntimeError: the process has ended before its first turn.
    """

    def __init__(self, command: Sequence[str | Path], turn: Turn, **options: Any) -> None:
        self.name, self.request = " ".join(map(str, command)), f"{json.dumps(turn)}\n"
        pipes: dict[str, Any] = {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
            "text": True,
        }
        self.process = subprocess.Popen(command, **pipes, **options)
        self.log: list[str] = []
        self._read()

    def turn(self) -> Reading:
        """Let it work for a turn, and return what it has done in a second.

        Raises:
            RuntimeError: the process has ended.
        """
        assert self.process.stdin is not None
        self.process.stdin.write(self.request)
        self.process.stdin.flush()
        return self._read()

    def finish(self) -> list[str]:
        """Let it work to its end without turns, and return the lines that it printed.

        Raises:
            RuntimeError: it has failed.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.log += self.process.stdout
        if self.process.wait():
            raise RuntimeError(f"{self.name}: {''.join(self.log)[-2000:]}")
        return self.log

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()

    def _read(self) -> Reading:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            before, mark, reading = line.partition(MARK)
            if mark:  # a progress bar without an end of line may stand before it
                return json.loads(reading)
            self.log.append(before)
        raise RuntimeError(f"{self.name}: {''.join(self.log)[-2000:]}")


def take_turns(
    workers: Mapping[str, Worker],
    turns: int,
    most: int | None = None,
    settled: Callable[[dict[str, list[Reading]]], bool] = lambda readings: True,
) -> dict[str, list[Reading]]:
    """Let workers take turns, and return their readings, one a turn. Who begins changes from turn to turn.

    Args:
        turns: of each worker, at least.
        most: turns, at most; None for no more.
        settled: whether so many readings suffice.
    """
    readings: dict[str, list[Reading]] = {name: [] for name in workers}
    order = list(workers)
    for turn in range(most or turns):
        for name in order:
            readings[name].append(workers[name].turn())
        order.append(order.pop(0))
        if turn + 1 >= turns and settled(readings):
            break
    return readings
