"""A sweep: which arms a command line names, how each is run, and what has become of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from omegaconf import DictConfig

from triptych.accounting.threads import available_cores
from triptych.config.composition import RunConfig, check_and_freeze
from triptych.config.explanations import explain
from triptych.config.search_path import own_folders
from triptych.config.shared_composition import compose_arms
from triptych.errors import UserError, report_unexpected
from triptych.kernels.cpu_memory import loaded_objects_skipped
from triptych.runs.folder import RunFolder
from triptych.runs.identity import display_overrides
from triptych.sweeps import arms as sweep_arms
from triptych.sweeps.arm_process import import_libraries
from triptych.sweeps.arm_run import COMES_LATER, CUT_OFF_OFTEN, ArmAnnouncer, compose_and_run_arm, run_arm, run_beside
from triptych.sweeps.arms import FAILED, FINISHED, WAITING, Arm
from triptych.sweeps.budget_order import smaller_budgets
from triptych.sweeps.jobs import (
    chosen_jobs,
    hydra_runs,
    jobs_that_fit,
    longest_first,
    measure_peaks,
    needs_of,
    side_by_side_pays,
    training_of,
)
from triptych.sweeps.launch import launch
from triptych.sweeps.shared_settings import RepeatFilter, describe, own_overrides, titles
from triptych.sweeps.side_by_side import QueuedArm, SideBySide
from triptych.sweeps.time_left import TimeLeft
from triptych.training.finished import late_overrides, warn_of_late

logger = logging.getLogger(__name__)

NAMED = 5
"""Most arms that are named where several have one reason."""


class Sweep:
    """A sweep of one command line, planned before its first arm runs.

    Args:
        overrides: of the whole sweep.
        config: that its arms share.
        arms: overrides of each; none for a sweeper that chooses its arms as it goes along.

    Raises:
        UserError: the configuration of an arm is a mistake.
    """

    def __init__(self, overrides: Sequence[str], config: DictConfig, arms: Sequence[Sequence[str]]) -> None:
        self.run_configs = refuse_mistakes(arms)
        self.jobs, self.hydra_runs = chosen_jobs(config, arms), hydra_runs(config, arms)
        self.overrides = overrides
        self.output = Path(config.output).expanduser()
        if RunFolder(self.output).record.exists():
            raise UserError(f"output={config.output} is a run's own folder; give the sweep another one.")
        sweep_arms.leave_out_mistakes(self.output, arms)
        self.planned = sweep_arms.plan_arms(self.output, config.study.name, arms)
        self.said = RepeatFilter(self.run_configs)
        shown = titles([arm.overrides for arm in self.planned])
        self.titles = {arm.identity: title for arm, title in zip(self.planned, shown, strict=True)}
        self._before = {arm.identity: arm for arm in sweep_arms.read_arms(self.output)}
        if others := len(self._before.keys() - self.titles.keys()):
            logger.info("arms of earlier sweeps in %s: %d; a report shows them too.", self.output, others)

    def run(self, prepare: Callable[[], None] = lambda: None) -> None:
        """Run every arm that is not finished, first those that no other process trains.

        Args:
            prepare: called in the process of arms that do not run side by side, which may be one of Hydra's launcher.

        Raises:
            UserError: a configuration of a sweeper that chooses its arms as it goes along.
            KeyboardInterrupt, SystemExit: arms that ran side by side were stopped, and have saved where they were.
        """
        beside = self._side_by_side()
        if self.run_configs and self.unfinished:
            logger.info("sweep: %s", describe(self.run_configs))
        announcer = ArmAnnouncer(
            self.titles, TimeLeft({arm.identity: 1.0 for arm in self.planned if arm.status != FINISHED})
        )
        for wait in (False, True):
            if wait and not (self.planned and self.unfinished):  # a sweeper of its own would choose other arms
                break
            if beside is not None:
                self._run_side_by_side(*beside, wait)
                continue
            with self.said.of_arms_in_this_process():
                if self.hydra_runs:
                    self._launch(partial(compose_and_run_arm, wait=wait, prepare=prepare, announcer=announcer))
                else:
                    self._run_one_by_one(wait, prepare, announcer)

    def _run_one_by_one(self, wait: bool, prepare: Callable[[], None], announcer: ArmAnnouncer) -> None:
        """Run the arms in this process. An error that is no arm's own does not stop the others either.

        Raises:
            UserError: the first mistake among such errors, after the last arm.
        """
        import triptych.training.run  # noqa: F401 - before the garbage collector is told what is loaded

        prepare()
        mistake: Exception | None = None
        with loaded_objects_skipped():
            for run_config in self.run_configs:
                try:
                    run_arm(run_config, wait=wait, announcer=announcer)
                except Exception as error:
                    if explain(error) is None:
                        logger.error("failed: %s", report_unexpected(error))
                    else:
                        mistake = mistake or error
        if mistake is not None:
            raise mistake

    def _launch(self, arm: Callable[[list[str]], float | None]) -> None:
        """Let Hydra run the arms."""
        try:
            launch(self.overrides, arm)
        except Exception as error:
            if explain(error) is not None:
                raise
            logger.error("the launcher broke off: %s", " ".join(str(error).split()))

    def _side_by_side(self) -> tuple[int, list[QueuedArm]] | None:
        """Return how many arms run at a time, and the arms in the order in which they start; None for one at a time."""
        if self.jobs == 1 or (self.jobs is None and not side_by_side_pays(self.run_configs)):
            return None
        import_libraries()  # while this process plans
        queued, left, finished = [], [], []
        late: list[str] = []
        after = smaller_budgets(self.run_configs)
        for arm, run_config, others in zip(self.planned, self.run_configs, after, strict=True):
            if folder := finished_before(arm, run_config):
                finished.append(folder)
                late += late_overrides(folder, run_config)
            else:
                training = training_of(run_config)
                queued.append(QueuedArm(arm, run_config, training, others, self.titles[arm.identity]))
                left.append(run_config)
        jobs = self.jobs
        if jobs is None:
            needs = needs_of(left)
            if all(needs):
                queued = [replace(arm, flops=need.flops) for arm, need in zip(queued, needs, strict=True) if need]
            jobs, queued = jobs_that_fit(needs), [queued[place] for place in longest_first(needs)]
        if jobs == 1:
            return None
        for folder in finished:
            logger.info("finished before: %s", folder.path)
        warn_of_late(late)
        return jobs, queued

    def _run_side_by_side(self, jobs: int, arms: Sequence[QueuedArm], wait: bool) -> None:
        """Run the arms that are neither finished nor failed, each in a process of its own.

        With ``wait``, their processes were killed before, or another process trains them. They run one at a time, since
        memory may have been short.
        """
        now = {arm.identity: arm for arm in self.arms}
        queued = []
        for one in arms:
            arm = now[one.arm.identity]
            if not wait and arm.cut_off >= CUT_OFF_OFTEN:
                logger.info(COMES_LATER, arm.place, arm.cut_off)
            elif not (wait and arm.status in (FINISHED, FAILED)):
                queued.append(one)
        trained = {
            training_of(run_config)
            for arm, run_config in zip(self.planned, self.run_configs, strict=True)
            if now[arm.identity].status == FINISHED
        }
        jobs, cores = 1 if wait else jobs, available_cores()
        peaks = measure_peaks([one.run_config for one in queued], max(1, cores // max(1, min(jobs, len(queued)))))
        SideBySide(
            queued,
            jobs=jobs,
            cores=cores,
            trained=trained,
            work=partial(run_beside, folders=own_folders(), peaks=peaks, wait=wait),
            of=len(self.planned),
            said=self.said,
        ).run()

    @property
    def arms(self) -> list[Arm]:
        """Arms of the sweep as they stand now: those that were planned, or that a sweeper has chosen and run."""
        now = {arm.identity: arm for arm in sweep_arms.read_arms(self.output)}
        if self.planned:
            return [now.get(arm.identity, arm) for arm in self.planned]
        return [arm for arm in now.values() if arm != self._before.get(arm.identity)]

    @property
    def unfinished(self) -> bool:
        """Whether an arm has neither finished nor failed, for another process has or had it."""
        return any(arm.status not in (FAILED, FINISHED) for arm in self.arms)

    @property
    def runs(self) -> list[RunFolder]:
        """Folders of the finished runs, in the order of the arms."""
        arms = self.arms if self.planned else sweep_arms.read_arms(self.output)
        return [RunFolder(self.output / arm.run) for arm in arms if arm.status == FINISHED and arm.run]

    def problems(self) -> list[str]:
        """Say why arms are not finished, a line for each reason, and last how many failed and how many are left."""
        arms = self.arms
        left = [arm for arm in arms if arm.status != FINISHED]
        reasons: dict[str | None, list[str]] = {}
        names = own_overrides([arm.overrides for arm in arms])
        if len(set(names)) < len(names):  # arms that differ in the folders of paths, which are not shown
            names = [" ".join(arm.overrides) for arm in arms]
        for arm, own in zip(arms, names, strict=True):
            if arm.status != FINISHED:
                reason = arm.reason if arm.status == FAILED else "not run" if arm.status == WAITING else "cut off"
                reasons.setdefault(reason, []).append(own)
        lines = []
        for reason, found in reasons.items():
            more = [f"and {len(found) - NAMED:,} more"] if len(found) > NAMED else []
            named = [f"all {len(arms)} arms"] if NAMED < len(found) == len(arms) else [*found[:NAMED], *more]
            lines.append(f"{'; '.join(named)}: {reason}")
        if left:
            failed = sum(arm.status == FAILED for arm in left)
            counts = [f"{failed} of {len(arms)} arms failed"] if failed else []
            counts += [f"{len(left) - failed} not finished"] if len(left) > failed else []
            lines.append(", ".join(counts))
        return lines


def refuse_mistakes(arms: Sequence[Sequence[str]]) -> list[RunConfig]:
    """Return the configurations of the arms.

    Raises:
        UserError: one of them is a mistake; it is named before any arm is planned.
    """
    mistakes: list[tuple[Sequence[str], str, Exception]] = []
    run_configs = []
    checked: set[str] = set()
    for overrides, composed in zip(arms, compose_arms(arms), strict=True):
        try:
            run_configs.append(check_and_freeze(composed, checked))
        except Exception as error:  # Hydra's own, around that of a constructor
            if (reason := explain(error)) is None:
                raise
            mistakes.append((overrides, reason, error))
    if mistakes:
        overrides, reason, cause = mistakes[0]
        named = reason if len(mistakes) == len(arms) else f"{' '.join(display_overrides(overrides))}: {reason}"
        raise UserError(named) from cause
    return run_configs


def finished_before(arm: Arm, run_config: RunConfig) -> RunFolder | None:
    """Return the run of an arm that is finished, and whose text has not changed since: it needs no process."""
    from triptych.training.plan import plan_run  # imports Lightning

    if arm.status != FINISHED:
        return None
    try:
        folder = plan_run(run_config, label=arm.label).folder
    except Exception:  # the arm's own process says what is wrong
        return None
    return folder if folder.result.exists() else None
