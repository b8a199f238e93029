"""A thread that translates for many requests: it takes along whatever waits, and translates it as one batch."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from triptych.errors import UserError

logger = logging.getLogger(__name__)

BATCH = 32
"""Maximum number of sentences that are translated together."""
Hypotheses = list[tuple[str, float]]
"""Translations of a sentence with their scores, best first."""


class QueueFull(Exception):
    """As many sentences wait as may wait."""


class Closed(Exception):
    """The worker has been closed."""


@dataclass(frozen=True)
class Answer:
    """What became of a sentence.

    Attributes:
        hypotheses: its translations with their scores, best first.
        seconds: time that the translation of its batch took.
        waited: seconds from the request to the start of the batch.
        batch: number of sentences in the batch.
    """

    hypotheses: Hypotheses
    seconds: float
    waited: float
    batch: int


@dataclass
class _Job:
    sentence: str
    future: Future[Answer] = field(default_factory=Future)
    arrived: float = field(default_factory=time.perf_counter)


class Worker:
    """Translate sentences in one thread, which alone touches the model.

    Args:
        translate: translates sentences, each into its hypotheses. A ``UserError`` says that it cannot; the sentences of
            the batch are then translated one by one, so that it reaches only the request that it is about.
        limit: maximum number of sentences that wait.
    """

    def __init__(self, translate: Callable[[Sequence[str]], Sequence[Hypotheses]], limit: int) -> None:
        self._translate = translate
        self._limit = limit
        self._waiting: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def submit(self, sentence: str) -> Future[Answer]:
        """Queue a sentence. The future has its answer, or the error that its translation raised.

        Raises:
            QueueFull: ``limit`` sentences wait already.
            Closed: the worker has been closed.
        """
        with self._changed:
            if self._closed:
                raise Closed
            if len(self._waiting) >= self._limit:
                raise QueueFull
            job = _Job(sentence)
            self._waiting.append(job)
            self._changed.notify()
        return job.future

    def close(self, timeout: float = 1.0) -> bool:
        """Refuse what waits, and wait up to ``timeout`` seconds for the batch that is being translated.

        Returns:
            Whether the thread has ended.
        """
        with self._changed:
            self._closed = True
            refused = list(self._waiting)
            self._waiting.clear()
            self._changed.notify()
        for job in refused:
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(Closed())
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                jobs = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
            jobs = [job for job in jobs if job.future.set_running_or_notify_cancel()]
            if jobs:
                self._answer(jobs)

    def _answer(self, jobs: Sequence[_Job]) -> None:
        start = time.perf_counter()
        try:
            found = self._translate([job.sentence for job in jobs])
        except Exception as error:
            if len(jobs) > 1:
                for job in jobs:
                    self._answer([job])
                return
            if not isinstance(error, UserError):
                logger.exception("a sentence could not be translated")
            jobs[0].future.set_exception(error)
            return
        seconds = time.perf_counter() - start
        for job, hypotheses in zip(jobs, found, strict=True):
            job.future.set_result(Answer(list(hypotheses), seconds, start - job.arrived, len(jobs)))
