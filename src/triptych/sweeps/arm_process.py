"""The process of one arm that runs beside others: ``python -m triptych.sweeps.arm_process JOB``.

JOB is JSON: the arm's overrides, the user's configuration folders, and ``wait`` as for ``run_arm``. Every message is
written to standard output as a line: ``messages.MARK``, then JSON. Standard input is a pipe that nothing is written to;
its end says that the process of the sweep has died.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from typing import Any

from triptych.config.search_path import with_own_folders
from triptych.sweeps.messages import MARK
from triptych.sweeps.side_by_side import NOT_FINISHED
from triptych.sweeps.sweep import run_arm
from triptych.training.callbacks.save_on_signal import TERMINATED
from triptych.training.distributed import is_rank_zero


def main() -> int:
    """Run the arm, and return the exit status: 0 for a finished one."""
    job = json.loads(sys.argv[1])
    log = logging.getLogger("triptych")
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(_SendToSweep())
    signal.signal(signal.SIGTERM, _stop)
    threading.Thread(target=_stop_with_sweep, daemon=True).start()
    with with_own_folders(job["folders"]):
        loss = run_arm(job["overrides"], wait=job["wait"], prepare=lambda: None)
    return NOT_FINISHED if loss is None else 0


class _SendToSweep(logging.Handler):
    """Write each message of rank 0 to standard output, where the process of the sweep reads it."""

    def emit(self, record: logging.LogRecord) -> None:
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


def _stop(number: int, _: Any) -> None:
    raise SystemExit(TERMINATED)


def _stop_with_sweep() -> None:
    """Wait for the process of the sweep, and stop when it has ended, also when it was killed and could not say so."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
