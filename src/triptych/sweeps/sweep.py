"""``triptych train -m``: which arms a sweep has, and how each of them fares."""

from __future__ import annotations

import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from triptych.config.composition import compose_run, hydra_of_its_own
from triptych.config.explanations import explain
from triptych.errors import UserError
from triptych.runs.folder import RunLocked, display_overrides
from triptych.sweeps import arms as sweeps
from triptych.sweeps.arms import FAILED, FINISHED, RUNNING, WAITING, Arm

MULTIRUN = ("-m", "--multirun")
OFTEN = 2
"""Times that an arm was cut off, perhaps because it kills its process: from then on it waits for the others."""


def arms_of(arguments: Sequence[str]) -> tuple[DictConfig, list[list[str]]] | None:
    """The config that the arms of a command line share, and the overrides of each; None where it names one run.

    A sweeper other than Hydra's own decides on its arms as it goes along, so that none is known: the list is empty.
    """
    overrides = [argument for argument in arguments if not argument.startswith("-")]
    with hydra_of_its_own() as loader:
        config = loader.load_configuration(
            "train", overrides=overrides, run_mode=RunMode.MULTIRUN, validate_sweep_overrides=False
        )
        if not set(MULTIRUN) & set(arguments) and config.hydra.mode != RunMode.MULTIRUN:
            return None
        if not str(config.hydra.sweeper._target_).endswith("BasicSweeper"):
            return config, []
        refuse_several(overrides)
        params = [f"{key}={value}" for key, value in (config.hydra.sweeper.params or {}).items()]
        parsed = OverridesParser.create(loader).parse_overrides([*params, *overrides])
    return config, BasicSweeper.split_arguments(parsed, None)[0]


def refuse_several(overrides: Sequence[str]) -> None:
    """Raises ``UserError`` for a sweep over experiments, each of which names arms of its own."""
    for override in overrides:
        key, _, value = override.partition("=")
        if key == "experiment" and "," in value:
            raise UserError(f"experiment={value} names several studies; start a sweep for each of them.")


class Sweep:
    """A sweep of one command line: planned before the first arm, unless an arm is a mistake, told of after the last.

    Args:
        arguments: of ``triptych train``.
        config: what its arms share.
        arms: the overrides of each.

    Raises:
        UserError: the configuration of an arm is a mistake.
    """

    def __init__(self, arguments: Sequence[str], config: DictConfig, arms: Sequence[Sequence[str]]) -> None:
        refuse_mistakes(arms)
        self.arguments = arguments
        self.output = Path(config.output).expanduser()
        sweeps.leave_out_mistakes(self.output, arms)
        self.planned = sweeps.plan(self.output, study_of(config), arms)

    @property
    def arms(self) -> list[Arm]:
        """As they stand now."""
        now = {arm.identity: arm for arm in sweeps.read_arms(self.output)}
        return [now.get(arm.identity, arm) for arm in self.planned] or list(now.values())

    @property
    def unfinished(self) -> bool:
        """Whether another process has, or had, an arm in hand."""
        return any(arm.status not in (FAILED, FINISHED) for arm in self.arms)

    def finish(self) -> int:
        """Names the arms that are not finished, and the command that tries them again; the exit status."""
        arms = self.arms
        left = [arm for arm in arms if arm.status != FINISHED]
        print(f"{len(arms) - len(left)} of {len(arms)} arms are finished: {self.output}", flush=True)
        for arm in left:
            reason = arm.reason if arm.status == FAILED else "not run" if arm.status == WAITING else "cut off"
            print(f"triptych: {' '.join(arm.overrides)}: {reason}", file=sys.stderr)
        if left:
            command = shlex.join(["triptych", "train", *self.arguments])
            failed = sum(arm.status == FAILED for arm in left)
            told = [f"{failed} of {len(arms)} arms failed"] if failed else []
            told += [f"{len(left) - failed} are unfinished"] if len(left) > failed else []
            print(f"triptych: {', '.join(told)}; again: {command}", file=sys.stderr)
        return 2 if left else 0


def refuse_mistakes(arms: Sequence[Sequence[str]]) -> None:
    """Raises ``UserError`` for an arm that cannot be configured, before any is planned."""
    from triptych.config.validation import check  # not for --help

    mistakes: list[tuple[Sequence[str], str, Exception]] = []
    for overrides in arms:
        config = compose_run(overrides)
        try:
            check(config)
        except Exception as error:  # Hydra's own, around that of a constructor
            reason = explain(error)
            if reason is None:
                raise
            mistakes.append((overrides, reason, error))
    if mistakes:
        overrides, reason, cause = mistakes[0]
        named = reason if len(mistakes) == len(arms) else f"{' '.join(display_overrides(overrides))}: {reason}"
        raise UserError(named) from cause


def study_of(config: DictConfig) -> str | None:
    return OmegaConf.select(config, "study.name")


def as_arm(train: Callable[..., None], config: DictConfig, *, wait: bool) -> None:
    """One arm of a sweep, whose failure is written down and does not stop the others.

    Args:
        train: makes the run; ``RunLocked`` where another process has it in hand.
        config: of the arm.
        wait: for that process, to go on where it was killed; otherwise the arm is left to it.
    """
    output, overrides = Path(config.output).expanduser(), list(HydraConfig.get().overrides.task)
    (arm,) = sweeps.plan(output, study_of(config), [overrides])
    if wait and arm.status in (FINISHED, FAILED):
        return
    if not wait and arm.cut_off >= OFTEN:
        print(f"arm {arm.place} was cut off {arm.cut_off} times; the others come first.", flush=True)
        return
    config.sweep = sweeps.name(output)
    begun = False

    def note(status: str, reason: str | None = None) -> None:
        folder = None if config.run_dir is None else Path(config.run_dir).name
        if rank_zero():
            sweeps.note(output, arm, status, run=folder, reason=reason)

    def begin() -> None:
        """Whoever was waited for may have failed at it."""
        nonlocal begun
        if wait and sweeps.now(output, arm).status == FAILED:
            raise RunLocked(arm.identity)
        begun = True
        note(RUNNING)

    print(f"arm {arm.place}: {' '.join(arm.overrides)}", flush=True)
    try:
        train(config, wait=wait, begin=begin)
        note(FINISHED)
    except RunLocked:
        print("another process trains it.", flush=True)
    except (KeyboardInterrupt, SystemExit):  # stopped, and not cut off
        if begun:
            note(WAITING)
        raise
    except Exception as error:
        reason = explain(error)
        if reason is None:
            traceback.print_exc()
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        # Until it begins it may be finished, or another process's, which the second pass would rather contradict than
        # call what failed here cut off.
        if begun or sweeps.now(output, arm).status in ((WAITING, FAILED, RUNNING) if wait else (WAITING, FAILED)):
            note(FAILED, reason)
        print(f"failed: {reason}", file=sys.stderr, flush=True)


def rank_zero() -> bool:
    """Whether this is the first process of its training."""
    from lightning.pytorch.utilities.rank_zero import rank_zero_only  # not for --help

    return getattr(rank_zero_only, "rank", 0) == 0
