"""Run the arms of a sweep side by side, each in a process of its own with so many threads."""

from __future__ import annotations

import logging
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from triptych.config.composition import RunConfig
from triptych.sweeps.arm_process import ArmProcess
from triptych.sweeps.arms import Arm
from triptych.sweeps.messages import ArmMessages
from triptych.sweeps.shared_settings import RepeatFilter
from triptych.sweeps.time_left import TimeLeft, in_words

logger = logging.getLogger(__name__)

NOT_FINISHED = 3
"""Exit status of a process whose arm has failed, or which another process trains."""
SECONDS_BETWEEN_LINES = 60.0
"""Least seconds between lines that say how far the sweep is, where there are no bars."""
NEARLY_DONE = 0.9
"""Share of its steps after which an arm's threads count as free: what starts now will soon have them."""


@dataclass(frozen=True)
class QueuedArm:
    """An arm that is to run.

    Attributes:
        arm: as it was planned.
        run_config: its configuration.
        training: identifies its training. Arms that share it share their weights.
        after: trainings that it waits for while they wait or run, to go on from their trunks.
        title: what it is called when it starts.
        flops: of its training; the same for all arms where that is not known.
    """

    arm: Arm
    run_config: RunConfig
    training: str
    after: frozenset[str] = frozenset()
    title: str = "arm"
    flops: float = 1.0

    @property
    def label(self) -> str:
        """Name that stands before the messages of the arm."""
        return self.arm.label or f"arm {self.arm.place}"


@dataclass(eq=False)
class RunningArm:
    """An arm while its process runs.

    Attributes:
        progress: steps done, and steps in all.
    """

    arm: QueuedArm
    threads: int
    process: ArmProcess
    progress: tuple[int, int] = (0, 1)

    @property
    def nearly_done(self) -> bool:
        """Whether the arm will soon have ended."""
        step, steps = self.progress
        return step >= NEARLY_DONE * steps


class SideBySide:
    """Arms of a sweep, as many at a time as there are jobs.

    An arm waits for another one that trains its weights, or its trunk, and takes no job while it does.

    Args:
        arms: in the order in which they start.
        jobs: most arms that run at a time.
        cores: that they share. Each arm has one thread; where fewer arms are left than jobs, those that start then have
            more.
        trained: trainings whose weights are there.
        work: of the process of an arm; returns its exit status. It is pickled.
        of: number of arms in the whole sweep, those that have ended before among them; None for those of ``arms``.
        said: what the arms share, so that it is shown once.

    Raises:
        KeyboardInterrupt: after Ctrl-C, once every arm has saved where it is and has stopped.
        SystemExit: after SIGTERM, likewise.
    """

    def __init__(
        self,
        arms: Sequence[QueuedArm],
        *,
        jobs: int,
        cores: int,
        trained: set[str],
        work: Callable[[QueuedArm], int],
        of: int | None = None,
        said: RepeatFilter | None = None,
    ) -> None:
        self.waiting = list(arms)
        self.running: list[RunningArm] = []
        self.jobs, self.cores, self.trained, self.work = jobs, cores, set(trained), work
        self.lines: queue.SimpleQueue[tuple[RunningArm, str | None]] = queue.SimpleQueue()
        self.messages = ArmMessages(said or RepeatFilter([]))
        self.signals: list[int] = []
        self.of = len(arms) if of is None else of
        self.time_left = TimeLeft(_work_of(arms, trained), jobs)
        self._last_said = time.monotonic()

    def run(self) -> None:
        with self._signals_passed_on(), self.messages.shown():
            try:
                self._start_arms()
                while self.running:
                    running, line = self.lines.get()
                    if line is None:
                        self._end(running)
                        self._start_arms()
                    elif progress := self.messages.show(running.arm.label, line):
                        running.progress = progress
                        self.time_left.progress(running.arm.label, *progress)
                        self._say_how_far()
            finally:
                for running in self.running:  # left by an error of this process, such as a pipe that nobody reads
                    running.process.stop()
                for running in self.running:
                    running.process.wait()
        if self.signals:
            self._stop()

    def startable(self) -> list[QueuedArm]:
        """Return the waiting arms that could start now, all together, in their order."""
        running = {one.arm.training for one in self.running}
        unfinished = running | {arm.training for arm in self.waiting}
        training, found = running - self.trained, []
        for arm in self.waiting:
            if arm.training not in training and not arm.after & unfinished:
                found.append(arm)
                training |= {arm.training} - self.trained
        return found

    def threads_of_next(self, startable: int) -> int:
        """Return the threads of the arm that starts next, where so many could."""
        staying = [running for running in self.running if not running.nearly_done]
        starting = min(self.jobs - len(staying), startable)  # soon, all those that share the free threads
        return max(1, (self.cores - sum(running.threads for running in staying)) // starting)

    def _start_arms(self) -> None:
        while not self.signals and len(self.running) < self.jobs and (arms := self.startable()):
            arm, threads = arms[0], self.threads_of_next(len(arms))
            logger.info("%s | %s, %d %s", arm.label, arm.title, threads, "thread" if threads == 1 else "threads")
            self.waiting.remove(arm)
            self.time_left.start(arm.label)
            running = RunningArm(arm, threads, ArmProcess(partial(self.work, arm), threads))
            self.running.append(running)
            threading.Thread(target=self._read, args=[running], daemon=True).start()
            if self.signals:  # one came while the process was starting
                running.process.stop()

    def _read(self, running: RunningArm) -> None:
        for line in running.process.lines():
            self.lines.put((running, line))
        self.lines.put((running, None))

    def _end(self, running: RunningArm) -> None:
        status = running.process.wait()
        self.running.remove(running)
        self.messages.end(running.arm.label)
        self.time_left.end(running.arm.label, finished=status == 0)
        if status == 0:
            self.trained.add(running.arm.training)
        elif status != NOT_FINISHED and not self.signals:
            how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
            hint = "; perhaps memory was short" if status == -signal.SIGKILL else ""
            logger.error("%s | its process %s%s.", running.arm.label, how, hint)
        self._say_how_far(now=True)

    def _say_how_far(self, *, now: bool = False) -> None:
        """Say how many arms have ended and, once there is a basis, the time left: as a bar, or a line now and then."""
        left = len(self.waiting) + len(self.running)
        seconds = self.time_left.seconds()
        said = in_words(seconds) if seconds is not None and not self.signals else ""
        self.messages.move_sweep(self.of - left, self.of, said)
        due = now or (said and time.monotonic() - self._last_said > SECONDS_BETWEEN_LINES)
        if left and due and (now or self.messages.bars is None) and not self.signals:
            self._last_said = time.monotonic()
            logger.info("sweep: %d of %d arms done%s", self.of - left, self.of, f", {said}" if said else "")

    @contextmanager
    def _signals_passed_on(self) -> Iterator[None]:
        """Pass Ctrl-C and SIGTERM on to the arms, which a terminal does not reach. Only in the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._receive) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _receive(self, number: int, _: Any) -> None:
        """Let every arm save and stop; a third signal kills them."""
        self.signals.append(number)
        for running in self.running:
            if len(self.signals) > 2:
                running.process.kill()
            else:
                running.process.stop()

    def _stop(self) -> None:
        from triptych.training.callbacks.save_on_signal import TERMINATED  # imports Lightning

        logger.info("stopped; the same command goes on where the arms have stopped.")
        if self.signals[0] == signal.SIGTERM:
            raise SystemExit(TERMINATED)
        raise KeyboardInterrupt


def _work_of(arms: Sequence[QueuedArm], trained: set[str]) -> dict[str, float]:
    """Return the FLOPs of each arm by its label; 0 for an arm whose weights are there, or another one trains."""
    known, work = set(trained), {}
    for arm in arms:
        work[arm.label] = 0.0 if arm.training in known else arm.flops
        known.add(arm.training)
    return work
