"""Long work says every ten seconds how far it has come, and quick work says nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from conftest import build_model

from triptych.decoding.batches import decode
from triptych.decoding.beams import Beams
from triptych.decoding.line_groups import count_lines
from triptych.decoding.progress import Progress
from triptych.decoding.search import Search

MODEL = build_model("model=rnn_none")
SEARCH = Search(
    beam_size=2, length_penalty=0.0, max_length_ratio=1.0, max_length_extra=5, min_length=6, stop="exact", n_best=1
)


class Clock:
    """A clock that stands, or runs by so many seconds whenever it is read."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.now = 0.0
        self.seconds = seconds

    def __call__(self) -> float:
        self.now += self.seconds
        return self.now


@pytest.fixture
def messages(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    monkeypatch.setattr(logging.getLogger("triptych"), "propagate", True)
    caplog.set_level(logging.INFO, "triptych")

    def new() -> list[str]:
        said = caplog.messages
        caplog.clear()
        return list(said)

    return new


def beams_of(limit: int, tokens: int) -> Beams:
    """Beams of a sentence that has so many tokens."""
    beams = Beams.initial(torch.tensor([1]), torch.tensor([limit]), 1, 1)
    beams.tokens = torch.ones(1, 1, 1 + tokens, dtype=torch.long)
    return beams


def test_lines_are_counted_at_most_every_ten_seconds(messages: Callable[[], list[str]]) -> None:
    clock = Clock()
    progress = Progress("translating", 5000, clock)
    for _ in range(30):
        clock.now += 3
        progress.finish(100)
    assert messages() == [f"translating: {done:,} of 5,000 lines" for done in (400, 800, 1200, 1600, 2000, 2400, 2800)]
    clock.now += 60
    progress.finish(2000)
    assert messages() == [], "all is done"


def test_a_text_of_unknown_length_has_its_lines_so_far(messages: Callable[[], list[str]]) -> None:
    clock = Clock()
    progress = Progress("translating", clock=clock)
    clock.now = 12
    progress.finish(2000)
    assert messages() == ["translating: 2,000 lines"]


def test_a_long_batch_counts_tokens(messages: Callable[[], list[str]]) -> None:
    clock = Clock()
    progress = Progress("translating", 5000, clock)
    candidates = (torch.zeros(1, 1),) * 3

    def search(seconds: int) -> None:
        step = progress.start_batch()
        for tokens in range(1, seconds + 1):
            clock.now += 1
            step(beams_of(5010, tokens - 1), candidates, beams_of(5010, tokens))

    search(25)
    assert messages() == [f"searching: {tokens} tokens of at most 5,010" for tokens in (10, 20)]
    progress.finish(1200)
    search(9)
    assert messages() == [], "this batch is quick"
    progress.finish(1)
    assert messages() == ["translating: 1,201 of 5,000 lines"]
    search(10)
    assert messages() == ["searching: 10 tokens of at most 5,010; 1,201 of 5,000 lines are done"]


def test_a_search_takes_notice_of_each_step(messages: Callable[[], list[str]]) -> None:
    sources = [[7, 8], [9, 10, 11]]
    silent = decode(MODEL, sources, SEARCH, 100, "cpu", progress=Progress("translating", 2, Clock()))
    assert messages() == []
    loud = decode(MODEL, sources, SEARCH, 100, "cpu", progress=Progress("translating", 2, Clock(6)))
    assert [hypotheses[0].tokens for hypotheses in loud] == [hypotheses[0].tokens for hypotheses in silent]
    assert [len(message) for message in messages()] == [len("searching: 2 tokens of at most 9")] * 4


@pytest.mark.parametrize("text", [b"", b"a\n", b"a", b"a\nb", b"\n\n"])
def test_lines_of_a_file_are_counted(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(text)
    (tmp_path / "text.gz").write_bytes(text)
    assert count_lines(tmp_path / "text") == len(text.decode().splitlines())
    assert count_lines(tmp_path / "text.gz") is None
    assert count_lines(Path("/dev/null")) is None
