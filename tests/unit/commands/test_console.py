"""The library's messages on the command line: each once, errors apart, rank 0 alone."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from triptych.commands import cli
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


@pytest.fixture
def progress_logger() -> Iterator[logging.Logger]:
    """Give the logger of long work, and put it back as it was."""
    log = logging.getLogger("triptych.decoding.progress")
    yield log
    log.handlers.clear()
    log.setLevel(logging.NOTSET)


@pytest.mark.usefixtures("progress_logger")
@pytest.mark.parametrize("command", ["translate", "score"])
@pytest.mark.parametrize("is_terminal", [True, False])
def test_long_work_is_shown_on_a_terminal_alone(
    command: str,
    is_terminal: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("a.en", "a.fr"):
        (tmp_path / name).write_text("a dog\n" * 4)
    files = [f"input={tmp_path / 'a.en'}", *([f"reference={tmp_path / 'a.fr'}"] if command == "score" else [])]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr("triptych.decoding.progress.SECONDS", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    monkeypatch.setattr("sys.argv", ["triptych", command, "run=demo:lm4mt", "search_tokens=6", *files])
    assert cli.main() == 0
    out, err = capsys.readouterr()
    work = {"translate": "translating", "score": "scoring"}[command]
    assert bool(re.search(rf"^{work}: [1-3] of 4 lines$", err, re.MULTILINE)) == is_terminal
    assert (" 4 lines" in err) == is_terminal
    assert out.count("\n") == 4
