"""The library's messages on the command line: each once, errors apart, rank 0 alone."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from triptych.commands.console import show_messages


@pytest.fixture(autouse=True)
def logger() -> Iterator[logging.Logger]:
    """Give the package's logger without handlers, and put it back as it was."""
    log = logging.getLogger("triptych")
    before = log.handlers[:], log.level, log.propagate
    log.handlers.clear()
    yield log
    log.handlers[:], log.propagate = before[0], before[2]
    log.setLevel(before[1])


def test_each_message_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        show_messages()
    log = logging.getLogger("triptych.training.run")
    log.info("run: %s", "runs/a")
    log.error("failed")
    log.debug("detail")
    monkeypatch.setenv("LOCAL_RANK", "1")
    log.info("of another rank")
    assert capsys.readouterr() == ("run: runs/a\n", "triptych: failed\n")
