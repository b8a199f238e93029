"""Which page of attention a run shows on W&B, and how loggers are ended."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from triptych.data.corpus import VALIDATION
from triptych.data.pairs import Pairs, Section
from triptych.training.loggers import WORDS_OF_ATTENTION, _log_attention, close_loggers


def asked_of(lines: list[str], first: int) -> list[tuple[str, Any]]:
    """What a run without attention is asked for; its dashboard would fail at the first call."""
    asked: list[tuple[str, Any]] = []

    def attention(source: str, direction: Any) -> Any:
        asked.append((source, direction))
        return SimpleNamespace(maps=[])

    sections = [Section(("de", "en"), first), Section(("en", "de"), len(lines) - first)]
    corpus: Any = SimpleNamespace(splits={VALIDATION: Pairs(lines, lines)}, sections={VALIDATION: sections})
    run: Any = SimpleNamespace(attention=attention)
    dashboard: Any = object()
    _log_attention([dashboard], run, corpus)
    return asked


def test_the_first_sentence_that_is_not_too_long_in_its_own_direction() -> None:
    long = "w " * (WORDS_OF_ATTENTION + 1)
    assert asked_of([long, "  ", "ein Haus", "noch eins", "a house"], 4) == [("ein Haus", ("de", "en"))]


def test_no_other_direction_takes_its_place() -> None:
    assert asked_of(["w " * 100, "a house"], 1) == []


def test_every_logger_is_ended_though_the_first_fails() -> None:
    ended: list[str] = []

    def fail(status: str) -> None:
        raise OSError("the disk is full")

    loggers: Any = [SimpleNamespace(finalize=fail), SimpleNamespace(finalize=ended.append)]
    with pytest.raises(OSError, match="the disk is full"):
        close_loggers(loggers, "failed")
    assert ended == ["failed"]
