"""What the processes of arms say, shown by the process of their sweep."""

from __future__ import annotations

import json
import logging
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console

from triptych.sweeps.shared_settings import RepeatFilter
from triptych.training.callbacks.bars import Bars

logger = logging.getLogger(__name__)

MARK = "\x1e"
"""Beginning of a message (RFC 7464). What else stands on an arm's standard output was not logged but printed."""


class ArmMessages:
    """Log every line of an arm's process behind the arm's label. In a terminal, show its progress as a bar instead.

    What all arms share is logged once, without a label.

    Args:
        said: what all arms share.

    Attributes:
        bars: of the arms that run; None outside a terminal.
    """

    ALL = "all arms"
    """Label of the bar of the sweep."""

    def __init__(self, said: RepeatFilter) -> None:
        console = Console()
        self.bars = Bars(console) if console.is_terminal else None
        self._said = said

    def shown(self) -> AbstractContextManager[Any]:
        """Show the bars while the context lasts."""
        return self.bars.progress if self.bars else nullcontext()

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
        except ValueError:
            message = None
        if not isinstance(message, dict):  # nothing was sent, or something was printed into it
            printed, message = line, None
        if printed.strip():
            logger.info("%s | %s", label, printed.rstrip())
        if message is None:
            return None
        progress = message["progress"]
        if progress and self.bars:
            self.bars.move(label, *progress)
        if not progress or not self.bars or message["level"] >= logging.INFO:
            self._log(label, message)
        return (progress[0], progress[1]) if progress else None

    def end(self, label: str) -> None:
        """Remove the bar of an arm whose process has ended."""
        if self.bars:
            self.bars.remove(label)

    def move_sweep(self, done: int, arms: int, left: str) -> None:
        """Show how far the sweep is, in a terminal."""
        if self.bars:
            self.bars.move(self.ALL, done, arms, {"": left} if left else {})

    def _log(self, label: str, message: dict[str, Any]) -> None:
        log, text = logging.getLogger(message["logger"]), message["text"]
        if self._said.is_shared(message.get("sections")):
            if self._said.is_new(text):
                log.log(message["level"], text)
            return
        for one in text.splitlines():
            log.log(message["level"], "%s | %s", label, one)


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
            "sections": getattr(record, "sections", None),
        }
        sys.stdout.write(f"{MARK}{json.dumps(message)}\n")
        sys.stdout.flush()


def send_to_sweep() -> None:
    """Let the messages of this process go to that of the sweep, and nowhere else."""
    log = logging.getLogger("triptych")
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.handlers = [SendToSweep()]
