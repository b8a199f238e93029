"""One arm of a sweep: run by this process, and written down whatever becomes of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from triptych.accounting.peaks import MeasuredPeaks, take_over
from triptych.config import run_values
from triptych.config.composition import RunConfig, check_and_freeze, compose_unchecked
from triptych.config.explanations import explain
from triptych.config.search_path import with_own_folders
from triptych.errors import report_unexpected
from triptych.runs.folder import RunFolder
from triptych.runs.locks import RunLocked
from triptych.runs.result_file import read_result
from triptych.sweeps import arms as sweep_arms
from triptych.sweeps.arms import FAILED, FINISHED, RUNNING, WAITING, Arm
from triptych.sweeps.messages import send_to_sweep
from triptych.sweeps.side_by_side import NOT_FINISHED, QueuedArm
from triptych.sweeps.time_left import TimeLeft, in_words
from triptych.training.requeue import name_job

logger = logging.getLogger(__name__)

CUT_OFF_OFTEN = 2
"""Times that an arm was cut off, perhaps because it kills its process. From then on it waits for the others."""
COMES_LATER = "arm %d was cut off %d times; the others come first."


@dataclass(frozen=True)
class ArmAnnouncer:
    """Says what starts, where arms run one after the other.

    Attributes:
        titles: what each arm is called, by its identity; none for a sweeper that chooses its arms as it goes along.
        time_left: of the sweep. In a launcher's processes nothing is known of the other arms.
    """

    titles: Mapping[str, str]
    time_left: TimeLeft

    def start(self, arm: Arm) -> str:
        """Return the message for an arm that starts, with the time left where it is known."""
        seconds = self.time_left.seconds()
        self.time_left.start(arm.identity)
        title = self.titles.get(arm.identity, f"arm {arm.place}: {' '.join(arm.overrides)}")
        return title if seconds is None else f"{title} (sweep: {in_words(seconds)})"


def compose_and_run_arm(
    overrides: Sequence[str], *, wait: bool, prepare: Callable[[], None], announcer: ArmAnnouncer
) -> float | None:
    """Prepare this process, compose the configuration of an arm that Hydra starts, and ``run_arm`` it."""
    prepare()
    return run_arm(compose_unchecked(overrides), wait=wait, announcer=announcer)


def run_arm(composed: RunConfig, *, wait: bool, announcer: ArmAnnouncer | None = None) -> float | None:
    """Run one arm of a sweep. Its failure is written down and does not stop the others.

    Args:
        composed: configuration of the arm, checked or not.
        wait: for another process that trains the arm, to resume where it was killed; otherwise leave the arm to it.
        announcer: of the sweep; None where the sweep's own process says which arm starts.

    Returns:
        Validation loss in nats per token, for sweepers that choose their arms by it; None if the arm is not finished,
        or has diverged.
    """
    output = Path(composed.config.output).expanduser()
    (arm,) = sweep_arms.plan_arms(output, composed.config.study.name, [composed.overrides])
    if wait and arm.status in (FINISHED, FAILED):
        return None
    if not wait and arm.cut_off >= CUT_OFF_OFTEN:
        logger.info(COMES_LATER, arm.place, arm.cut_off)
        return None
    name_job(arm.label or arm.identity)
    run = _ArmRun(output, arm, wait)
    if announcer is None:
        return run.run(composed)
    logger.info(announcer.start(arm))
    loss = run.run(composed)
    announcer.time_left.end(arm.identity, finished=run.started and run.finished)
    return loss


def run_beside(arm: QueuedArm, *, folders: Sequence[Path], peaks: MeasuredPeaks, wait: bool) -> int:
    """Run one arm in a process of its own, and return the exit status of that: 0 for a finished arm.

    Args:
        arm: to run.
        folders: with the user's configuration.
        peaks: of this machine, which the process of the sweep has measured.
        wait: as for ``run_arm``.
    """
    take_over(peaks)
    send_to_sweep()
    run_values.register()  # the configuration has ``${run:…}`` in it
    with with_own_folders(folders, arm.run_config.overrides):
        run_arm(arm.run_config, wait=wait)
    output = Path(arm.run_config.config.output).expanduser()
    return 0 if sweep_arms.current(output, arm.arm).status == FINISHED else NOT_FINISHED


class _ArmRun:
    """One arm while this process runs it.

    Attributes:
        started: whether this process has started the arm.
        finished: whether it is finished.
        folder: of the arm's run, once it is known.
    """

    def __init__(self, output: Path, arm: Arm, wait: bool) -> None:
        self.output, self.arm, self.wait = output, arm, wait
        self.started = self.finished = False
        self.folder: RunFolder | None = None

    def run(self, composed: RunConfig) -> float | None:
        from triptych.training.run import train_run  # imports Lightning, which planning does without

        try:
            name = sweep_arms.sweep_name(self.output)
            config = check_and_freeze(composed)
            self.folder = train_run(config, sweep=name, label=self.arm.label, wait=self.wait, on_start=self._start)
            self._record(FINISHED)
            self.finished = True
            return read_result(self.folder)["validation"]["loss"]
        except RunLocked:
            logger.info("another process trains it.")
        except (KeyboardInterrupt, SystemExit):  # stopped, and not cut off
            if self.started:
                self._record(WAITING)
            raise
        except Exception as error:
            self._fail(error)
        return None

    def _start(self, folder: RunFolder) -> None:
        """Note that the arm runs, unless the process that was waited for has failed at it."""
        self.folder = folder
        if self.wait and sweep_arms.current(self.output, self.arm).status == FAILED:
            raise RunLocked(folder.path)
        self.started = True
        self._record(RUNNING)

    def _fail(self, error: Exception) -> None:
        reason = explain(error) or report_unexpected(error)
        # Record the failure only if this process started the arm, or no other process has finished or taken it.
        free = (WAITING, FAILED, RUNNING) if self.wait else (WAITING, FAILED)
        if self.started or sweep_arms.current(self.output, self.arm).status in free:
            self._record(FAILED, reason)
        logger.error("failed: %s", reason)

    def _record(self, status: str, reason: str | None = None) -> None:
        from triptych.training.distributed import is_rank_zero

        if is_rank_zero():
            sweep_arms.set_status(self.output, self.arm, status, run=self.folder, reason=reason)
