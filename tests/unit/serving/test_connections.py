"""Connections that ask for nothing, bodies that do not arrive, and requests that the end of the server meets."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pytest

uvicorn = pytest.importorskip("uvicorn", reason="the extra 'serve' is not installed")

from triptych.serving import connections, guard, server  # noqa: E402
from triptych.serving.guard import Guard  # noqa: E402

ASKING = b"POST /api HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 5\r\n\r\n"


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the body of the request; 'sleep' waits for ever."""
    body = (await receive())["body"]
    if body == b"sleep":
        await asyncio.sleep(100)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": body})


class Running:
    """A server in a thread, with little patience."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(connections, "SECONDS_TO_ASK", 0.3)
        monkeypatch.setattr(connections, "MOST_CONNECTIONS", 3)
        monkeypatch.setattr(guard, "SECONDS_TO_SEND", 0.3)
        monkeypatch.setattr(server, "SECONDS_TO_END", 1)
        run = uvicorn.Server.run

        def run_here(this: Any, sockets: Any) -> None:
            self.server = this
            run(this, sockets)

        monkeypatch.setattr(uvicorn.Server, "run", run_here)
        self.listening = server.bind("127.0.0.1", 0)
        self.port = self.listening.getsockname()[1]
        app = Guard(answer, host="127.0.0.1", max_body=10)
        self.thread = threading.Thread(target=server.serve, args=(app, [], self.listening), daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(10)
        self.listening.close()
        assert not self.thread.is_alive()

    def ask(self, text: bytes) -> bytes:
        """Return the answer to a request; nothing if the server closes the connection instead."""
        with closing(socket.create_connection(("127.0.0.1", self.port), timeout=5)) as line:
            line.sendall(text)
            found = b""
            with suppress(ConnectionResetError):
                while part := line.recv(1000):
                    found += part
        return found


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    found = Running(monkeypatch)
    yield found
    found.stop()


def test_a_connection_without_a_request_is_closed(running: Running) -> None:
    """It was kept for ever."""
    assert running.ask(b"") == b""
    assert running.ask(b"POST /api HT") == b""


def test_connections_that_ask_for_nothing_leave_room_for_others(running: Running) -> None:
    lines = [socket.create_connection(("127.0.0.1", running.port), timeout=5) for _ in range(10)]
    time.sleep(0.6)
    assert running.ask(ASKING + b"hello").endswith(b"hello")
    for line in lines:
        line.close()


def test_a_further_request_that_never_ends_is_closed_too(running: Running) -> None:
    """Behind a first request, half of another kept a connection for ever."""
    with closing(socket.create_connection(("127.0.0.1", running.port), timeout=5)) as line:
        keeping = ASKING.replace(b"Connection: close\r\n", b"")
        for _ in range(2):
            line.sendall(keeping + b"hello")
            answered = b""
            while not answered.endswith(b"hello"):
                answered += line.recv(1000)
            time.sleep(0.4)
        line.sendall(b"POST /api HT")
        time.sleep(0.2)
        line.sendall(b"TP")
        assert line.recv(1000) == b""


def test_a_body_that_does_not_arrive_is_refused(running: Running) -> None:
    assert b" 408 " in running.ask(ASKING + b"hel")


def test_a_request_that_the_end_of_the_server_meets_is_refused(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """A traceback was shown of each."""
    answers: list[bytes] = []
    asking = threading.Thread(target=lambda: answers.append(running.ask(ASKING + b"sleep")))
    asking.start()
    time.sleep(0.5)
    running.stop()
    asking.join(10)
    assert b" 503 " in answers[0]
    assert "Traceback" not in caplog.text
