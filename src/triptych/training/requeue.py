"""Jobs of Slurm that were started by submitit: what tells them that they end, and how they go back to the queue.

Before the wall time is over, Slurm sends the signal that submitit asked for (SIGUSR2). When another job takes the
place of a job, it sends SIGTERM. After either, and some time of grace, the job is killed. submitit answers the first:
it writes down that the job goes on, and puts it back in the queue, where it starts again. It ignores SIGTERM.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from triptych.errors import UserError

Handler = Callable[[int, Any], Any]
IN_THE_QUEUE = "Job is pending execution"
"""What Slurm says of a job that waits already: without a time of grace, Slurm puts it back before it ends."""


def wall_time_signal() -> signal.Signals | None:
    """Return the signal that comes before the end of a job's wall time; None where submitit has started no job."""
    if os.environ.get("SUBMITIT_EXECUTOR") != "slurm":
        return None
    return signal.Signals[f"SIG{os.environ.get('SUBMITIT_PREEMPT_SIGNAL', 'USR2')}"]


def requeue(handler: Handler, number: signal.Signals) -> None:
    """Put this job back into the queue, which the first rank does for all. The process should end then.

    Slurm kills the processes of a job that it requeues, and with them the command that asks for it. So that command
    gets a session of its own.

    Args:
        handler: of submitit for ``number``.
        number: ``wall_time_signal``.

    Raises:
        submitit.core.utils.UncompletedJobError: it has been there too often.
        UserError: Slurm refuses.
    """
    environment = handler.__self__.env  # type: ignore[attr-defined]
    environment._requeue = lambda countdown: _requeue_in_own_session(environment.job_id)
    with suppress(SystemExit):
        handler(number, None)


def _requeue_in_own_session(job: str) -> None:
    asked = ["scontrol", "requeue", job]
    done = subprocess.run(asked, check=False, start_new_session=True, capture_output=True, text=True)
    if done.returncode and IN_THE_QUEUE not in done.stderr:
        raise UserError(
            f"Slurm does not put job {job} back into its queue ({done.stderr.strip()}); give the same command again."
        )


def name_job(name: str) -> None:
    """Let Slurm's lists show a job under a name. What goes wrong is no reason not to train."""
    if os.environ.get("SUBMITIT_EXECUTOR") != "slurm":
        return
    array = [os.environ.get(f"SLURM_ARRAY_{part}_ID") for part in ("JOB", "TASK")]
    job = "_".join(map(str, array)) if all(array) else os.environ.get("SLURM_JOB_ID")
    subprocess.run(["scontrol", "update", f"JobId={job}", f"JobName={name}"], check=False, capture_output=True)
