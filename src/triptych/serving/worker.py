"""A thread that works for many requests: sentences that wait are translated together."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from triptych.errors import UserError

logger = logging.getLogger(__name__)
T = TypeVar("T")

BATCH = 32
"""Maximum number of sentences that are translated together."""
Hypotheses = list[tuple[str, float]]
"""Translations of a sentence with their scores, best first."""


class QueueFull(Exception):
    """As many jobs wait as may wait."""


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
class _Sentence:
    text: str
    future: Future[Answer] = field(default_factory=Future)
    arrived: float = field(default_factory=time.perf_counter)


@dataclass
class _Task:
    function: Callable[[], object]
    future: Future[Any] = field(default_factory=Future)


class Worker:
    """Translate sentences, and do other work with the model, in one thread. No other touches it, but for those
    that this one starts.

    Args:
        translate: translates sentences, each into its hypotheses. A ``UserError`` says that it cannot; the sentences of
            the batch are then translated one by one, so that it reaches only the request that it is about.
        limit: maximum number of jobs that wait.
    """

    def __init__(self, translate: Callable[[Sequence[str]], Sequence[Hypotheses]], limit: int) -> None:
        self._translate = translate
        self._limit = limit
        self._waiting: deque[_Sentence | _Task] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def submit(self, sentence: str) -> Future[Answer]:
        """Queue a sentence. The future has its answer, or the error that its translation raised.

        Raises:
            QueueFull: ``limit`` jobs wait already.
            Closed: the worker has been closed.
        """
        return self._queue(_Sentence(sentence))

    def call(self, function: Callable[[], T]) -> Future[T]:
        """Queue a function, which runs in the thread by itself. Future and errors as of ``submit``."""
        return self._queue(_Task(function))

    def _queue(self, job: _Sentence | _Task) -> Future[Any]:
        with self._changed:
            if self._closed:
                raise Closed
            if len(self._waiting) >= self._limit:
                raise QueueFull
            self._waiting.append(job)
            self._changed.notify()
        return job.future

    def close(self, timeout: float = 1.0) -> bool:
        """Refuse what waits, and wait up to ``timeout`` seconds for what is being done.

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
                job = self._waiting.popleft()
                sentences = [] if isinstance(job, _Task) else [job, *self._more_sentences(BATCH - 1)]
            if isinstance(job, _Task):
                if job.future.set_running_or_notify_cancel():
                    self._do(job)
            elif wanted := [one for one in sentences if one.future.set_running_or_notify_cancel()]:
                self._answer(wanted)

    def _more_sentences(self, most: int) -> list[_Sentence]:
        """Take the sentences from the front of the queue, up to the next task."""
        found: list[_Sentence] = []
        while self._waiting and len(found) < most and isinstance(job := self._waiting[0], _Sentence):
            found.append(job)
            self._waiting.popleft()
        return found

    def _do(self, task: _Task) -> None:
        try:
            task.future.set_result(task.function())
        except Exception as error:
            _fail(task.future, error)

    def _answer(self, sentences: Sequence[_Sentence]) -> None:
        start = time.perf_counter()
        try:
            found = list(zip(sentences, self._translate([one.text for one in sentences]), strict=True))
        except Exception as error:
            if len(sentences) > 1:
                for one in sentences:
                    self._answer([one])
                return
            _fail(sentences[0].future, error)
            return
        seconds = time.perf_counter() - start
        for one, hypotheses in found:
            one.future.set_result(Answer(list(hypotheses), seconds, start - one.arrived, len(sentences)))


def _fail(future: Future[Any], error: Exception) -> None:
    if not isinstance(error, UserError):
        logger.error("a request could not be answered", exc_info=error)
    future.set_exception(error)
