"""Bars of one line each, whatever the width; validations stay above them."""

from __future__ import annotations

import io
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from triptych.commands.console import show_messages
from triptych.training.callbacks.bars import Bars, fitted
from triptych.training.callbacks.progress import ProgressBar

FIGURES = {"loss": "12.345", "tokens/s": "123,456", "val ppl": "12345.67", "val BLEU": "45.2", "left": "123:45"}


@pytest.mark.parametrize("width", [40, 60, 80, 140])
def test_each_bar_is_one_line(width: int) -> None:
    bars = Bars(Console(width=width, force_terminal=True, file=io.StringIO()))
    labels = ["lm4mt", "transformer_base-label_smoothing_0.1-s_1"]
    for label in labels:
        bars.move(label, 12_345, 4_000_000, FIGURES)
    lines = bars.progress.console.render_lines(bars.progress.get_renderable(), pad=False)
    text = ["".join(segment.text for segment in line).rstrip() for line in lines]
    assert len(text) == len(labels)
    assert all(cell_len(line) <= width for line in text)
    assert all("12,345/4,000,000" in line for line in text)
    assert all("left 123:45" in line for line in text) or width == 40
    assert (labels[1] in text[1]) == (width == 140)


def test_the_least_important_figures_go_first() -> None:
    assert fitted(FIGURES, 200).startswith("loss 12.345, tokens/s 123,456, val ppl")
    assert fitted(FIGURES, 60) == "loss 12.345, val ppl 12345.67, val BLEU 45.2, left 123:45"
    assert fitted(FIGURES, 40) == "loss 12.345, val BLEU 45.2, left 123:45"
    assert fitted(FIGURES, 12) == "left 123:45"
    assert fitted(FIGURES, 5) == ""


def test_validations_stay_above_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr("sys.stdout", written)
    log = logging.getLogger("triptych")
    monkeypatch.setattr(log, "handlers", [])
    monkeypatch.setattr(log, "level", log.level)
    monkeypatch.setattr(log, "propagate", False)
    show_messages()
    bar = ProgressBar(Console(width=60, force_terminal=True, file=written))
    trainer: Any = SimpleNamespace(global_step=0, max_steps=20, is_global_zero=True)
    module: Any = SimpleNamespace(latest={"train/loss": 2.0, "validation/bleu": 31.0})
    bar.on_train_start(trainer, module)
    for step in (10, 20):
        trainer.global_step = step
        bar.on_train_batch_end(trainer, module, None, None, 0)
        bar.on_validation_end(trainer, module)
    bar.on_train_end(trainer, module)
    screen = Screen()
    screen.feed(written.getvalue())
    assert screen.shown == [f"step {step}/20: loss 2.000, val BLEU 31.0, left 0:00" for step in (10, 20)]
    assert "loss 2.000, val BLEU 31.0, left 0:00" in screen.widest


class Screen:
    """As much of a terminal as bars need: lines, and the sequences that go up a line and that empty one."""

    def __init__(self) -> None:
        self.lines, self.row, self.widest = [""], 0, ""

    def feed(self, text: str) -> None:
        at = 0
        while at < len(text):
            if text.startswith("\x1b[", at):
                end = next(i for i in range(at + 2, len(text)) if text[i].isalpha())
                self.lines[self.row] = "" if text[end] == "K" else self.lines[self.row]
                self.row -= text[end] == "A"
                at = end + 1
                continue
            if text[at] == "\n":
                self.row += 1
                self.lines += [""] * (self.row == len(self.lines))
            elif text[at] != "\r":
                self.lines[self.row] += text[at]
                self.widest = max(self.widest, self.lines[self.row], key=len)
            at += 1

    @property
    def shown(self) -> list[str]:
        return [line for line in self.lines if line.strip()]
