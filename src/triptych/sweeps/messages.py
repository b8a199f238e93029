"""What the processes of arms say, shown by the process of their sweep."""

from __future__ import annotations

import json
import logging
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

logger = logging.getLogger(__name__)

MARK = "\x1e"
"""Beginning of a message (RFC 7464). What else stands on an arm's standard output was not logged but printed."""


class ArmMessages:
    """Log every line of an arm's process behind the arm's label. In a terminal, show its progress as a bar instead.

    Attributes:
        bars: of the arms that run; None outside a terminal.
    """

    def __init__(self) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[values]}"),
        )
        console = Console()
        self.bars = Progress(*columns, console=console) if console.is_terminal else None
        self._bar_of: dict[str, TaskID] = {}

    def shown(self) -> AbstractContextManager[Any]:
        """Show the bars while the context lasts."""
        return self.bars or nullcontext()

    def show(self, label: str, line: str) -> tuple[int, int] | None:
        """Show one line of an arm's process.

        Args:
            label: of the arm.
            line: a message as ``SendToSweep`` sends it, perhaps behind text that was printed; or printed text alone.

        Returns:
            Steps done and steps in all, if the line says so.
        """
        printed, _, sent = line.partition(MARK)
        try:
            message = json.loads(sent)
        except ValueError:  # nothing was sent, or something was printed into it
            printed, message = line, None
        if printed.strip():
            logger.info("%s | %s", label, printed.rstrip())
        if message is None:
            return None
        progress = message["progress"]
        if progress and self.bars:
            self._move_bar(label, *progress)
        else:
            for text in message["text"].splitlines():
                logging.getLogger(message["logger"]).log(message["level"], "%s | %s", label, text)
        return (progress[0], progress[1]) if progress else None

    def end(self, label: str) -> None:
        """Remove the bar of an arm whose process has ended."""
        if self.bars and label in self._bar_of:
            self.bars.remove_task(self._bar_of.pop(label))

    def _move_bar(self, label: str, step: int, steps: int, values: str) -> None:
        assert self.bars is not None
        if label not in self._bar_of:
            self._bar_of[label] = self.bars.add_task(label, total=steps, values="")
        self.bars.update(self._bar_of[label], completed=step, total=steps, values=values)


class SendToSweep(logging.Handler):
    """Write each message of rank 0 to standard output, where the process of the sweep reads it: ``MARK``, then JSON."""

    def emit(self, record: logging.LogRecord) -> None:
        from triptych.training.distributed import is_rank_zero  # imports torch

        if not is_rank_zero():
            return
        message = {
            "logger": record.name,
            "level": record.levelno,
            "text": record.getMessage(),
            "progress": getattr(record, "progress", None),
        }
        sys.stdout.write(f"{MARK}{json.dumps(message)}\n")
        sys.stdout.flush()


def send_to_sweep() -> None:
    """Let the messages of this process go to that of the sweep, and nowhere else."""
    log = logging.getLogger("triptych")
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.handlers = [SendToSweep()]
