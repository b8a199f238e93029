"""Progress bars that take one line each, however narrow the terminal is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

LEAST_IMPORTANT = ("tokens/s", "val ppl", "val BLEU", "loss")
"""Figures that a narrow terminal leaves out, the first to go first."""


@dataclass
class _Bar:
    task: TaskID
    count: str
    figures: Mapping[str, str]


class Bars:
    """Bars of trainings: what is trained, the bar, steps, and as many figures as the line has room for.

    Args:
        console: a terminal.
    """

    def __init__(self, console: Console) -> None:
        plain = [TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in ("label", "count", "figures")]
        self.progress = Progress(plain[0], BarColumn(bar_width=None), *plain[1:], console=console, transient=True)
        self._bars: dict[str, _Bar] = {}

    def move(self, label: str, done: int, total: int, figures: Mapping[str, str]) -> None:
        """Move the bar of a training, which appears with the first call.

        Args:
            label: what is trained.
            done: steps done, of ``total``.
            figures: by name, in the order in which they are shown.
        """
        if label not in self._bars:
            task = self.progress.add_task("", total=total, label=label, count="", figures="")
            self._bars[label] = _Bar(task, "", {})
        bar = self._bars[label]
        bar.count, bar.figures = f"{done:,}/{total:,}", figures
        self.progress.update(bar.task, completed=done, total=total)
        self._fit()

    def remove(self, label: str) -> None:
        """Remove the bar of a training, if it has one."""
        if bar := self._bars.pop(label, None):
            self.progress.remove_task(bar.task)

    def _fit(self) -> None:
        """Give all bars the columns of one table: labels at most a third of the width, bars at least an eighth."""
        width = self.progress.console.width
        labels = min(max(map(cell_len, self._bars)), width // 3)
        counts = max(cell_len(bar.count) for bar in self._bars.values())
        space = width - labels - counts - width // 8 - 4  # gaps between columns, and one at the end
        for label, bar in self._bars.items():
            shown = label if cell_len(label) <= labels else f"{set_cell_size(label, labels - 1)}…"
            self.progress.update(bar.task, label=shown, count=bar.count, figures=fitted(bar.figures, space))


def fitted(figures: Mapping[str, str], width: int) -> str:
    """Return figures as text of at most a width, without those of ``LEAST_IMPORTANT`` that have no room."""
    names = [*figures]
    for name in ["", *LEAST_IMPORTANT, *names]:
        names = [one for one in names if one != name]
        text = ", ".join(f"{one} {figures[one]}".strip() for one in names)
        if cell_len(text) <= width:
            return text
    return ""
