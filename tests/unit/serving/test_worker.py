"""One thread that translates in batches what many requests bring."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

import pytest

from triptych.errors import UserError
from triptych.serving.worker import BATCH, Closed, Hypotheses, QueueFull, Worker


class Translator:
    """Turn sentences into capitals, and keep the batches. ``gate`` holds a batch until it is set."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.began, self.gate = threading.Event(), threading.Event()
        self.gate.set()

    def __call__(self, sentences: Sequence[str]) -> list[Hypotheses]:
        self.batches.append(list(sentences))
        self.began.set()
        self.gate.wait(30)
        if "long" in sentences:
            raise UserError("too long.")
        if "broken" in sentences:
            raise ZeroDivisionError
        return [[(sentence.upper(), -1.0)] for sentence in sentences]


def held(limit: int = 100) -> tuple[Translator, Worker]:
    """A worker that is held in its first batch, ``first``."""
    translator = Translator()
    translator.gate.clear()
    worker = Worker(translator, limit)
    worker.submit("first")
    assert translator.began.wait(30)
    return translator, worker


def test_what_waits_is_translated_together() -> None:
    translator, worker = held()
    futures = [worker.submit(f"s{number}") for number in range(BATCH + 3)]
    translator.gate.set()
    answers = [future.result(30) for future in futures]
    assert [answer.hypotheses for answer in answers] == [[(f"S{number}", -1.0)] for number in range(BATCH + 3)]
    assert [len(batch) for batch in translator.batches] == [1, BATCH, 3]
    assert {answer.batch for answer in answers} == {BATCH, 3}
    assert all(answer.waited >= 0 for answer in answers)
    worker.close()


def test_a_full_queue_refuses_and_recovers() -> None:
    translator, worker = held(limit=2)
    waiting = [worker.submit("a"), worker.submit("b")]
    with pytest.raises(QueueFull):
        worker.submit("c")
    translator.gate.set()
    assert [future.result(30).hypotheses[0][0] for future in waiting] == ["A", "B"]
    assert worker.submit("c").result(30).hypotheses[0][0] == "C"
    worker.close()


@pytest.mark.parametrize(("wrong", "error"), [("long", UserError), ("broken", ZeroDivisionError)])
def test_a_sentence_that_fails_fails_alone(
    wrong: str, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    translator, worker = held()
    futures = [worker.submit(sentence) for sentence in ("a", wrong, "b")]
    translator.gate.set()
    assert [futures[place].result(30).hypotheses[0][0] for place in (0, 2)] == ["A", "B"]
    with pytest.raises(error):
        futures[1].result(30)
    assert worker.submit("c").result(30).batch == 1, "the thread lives"
    worker.close()


def test_a_call_runs_alone_and_in_its_turn() -> None:
    """Sentences before and after it are batches of their own."""
    translator, worker = held()
    seen: list[list[list[str]]] = []

    def look() -> str:
        seen.append([*translator.batches])
        return threading.current_thread().name

    before, call, given_up, after = (
        worker.submit("a"), worker.call(look), worker.call(look), worker.submit("b")
    )  # fmt: skip
    assert given_up.cancel()
    translator.gate.set()
    assert after.result(30).batch == before.result(30).batch == 1
    assert call.result(30) != threading.current_thread().name
    assert seen == [[["first"], ["a"]]]
    assert translator.batches == [["first"], ["a"], ["b"]]
    worker.close()


def test_a_call_that_fails_fails_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    translator, worker = held(limit=1)
    failing = worker.call(lambda: 1 / 0)
    with pytest.raises(QueueFull):
        worker.call(list)
    translator.gate.set()
    with pytest.raises(ZeroDivisionError):
        failing.result(30)
    assert "ZeroDivisionError" in caplog.text
    assert worker.submit("a").result(30).hypotheses == [("A", -1.0)]
    worker.close()
    with pytest.raises(Closed):
        worker.call(list)


def test_a_request_that_was_given_up_is_not_translated() -> None:
    translator, worker = held()
    given_up, other = worker.submit("a"), worker.submit("b")
    assert given_up.cancel()
    translator.gate.set()
    assert other.result(30).batch == 1
    assert translator.batches == [["first"], ["b"]]
    worker.close()


def test_closing_refuses_what_waits_and_what_comes() -> None:
    translator, worker = held()
    waiting = worker.submit("a")
    worker.close(timeout=0)
    with pytest.raises(Closed):
        waiting.result(30)
    with pytest.raises(Closed):
        worker.submit("b")
    translator.gate.set()
    worker.close()
    assert translator.batches == [["first"]]
