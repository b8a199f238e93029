"""The boundary of the program: whatever happens inside ends as one sentence and an exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress

from triptych.commands import streams
from triptych.commands.signals import INTERRUPTED, TERMINATED, UNREAD, sigterm_unwinds
from triptych.errors import report_unexpected
from triptych.training.lost_signals import signals_come_again

UNEXPECTED, MISTAKE = 1, 2
"""Exit statuses, beside those of signals."""


def guarded(work: Callable[[], int]) -> int:
    """Do the work of the command line and return its exit status; turn what it raises into a sentence and a status."""
    streams.prepare()
    try:
        with sigterm_unwinds(), signals_come_again(TERMINATED), streams.flushed():
            return work()
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if isinstance(error, BrokenPipeError) and streams.nobody_reads():
            return UNREAD
        from triptych.commands.printing import print_fitted
        from triptych.config.explanations import explain  # imports Hydra

        sentence = explain(error)
        with suppress(OSError):  # nobody may be there to be told
            print_fitted(f"triptych: {sentence or report_unexpected(error)}", sys.stderr)
        return MISTAKE if sentence else UNEXPECTED
    finally:
        streams.drop_unwritten()
