"""``triptych train``: train a run, or every arm of a sweep."""

from __future__ import annotations

import logging
import shlex

from omegaconf import DictConfig

from triptych.commands.arguments import asks_to_show, overrides_of, show
from triptych.config.composition import MULTIRUN, arms_of, compose_run
from triptych.errors import UserError
from triptych.runs.locks import RunLocked

logger = logging.getLogger(__name__)

SWEEP_KEYS = ("experiment=", "hydra.mode=")
"""Beginnings of the overrides that can make a command line a sweep without ``-m``."""


def main(arguments: list[str]) -> int:
    """Train one run, or all arms of a sweep; an experiment may say itself that it is one.

    Raises:
        UserError: a mistake in the configuration. An arm of a sweep reports its own.
    """
    if asks_to_show(arguments):
        return show("train", arguments)
    with overrides_of("train", arguments) as given:
        overrides = [one for one in given if one not in MULTIRUN]
        may_sweep = len(overrides) < len(given) or any(one.startswith(SWEEP_KEYS) for one in overrides)
        if may_sweep and (found := arms_of("train", given)):
            return _sweep(arguments, overrides, *found)
        _train(overrides)
    return 0


def _train(overrides: list[str]) -> None:
    from triptych.commands.console import show_messages
    from triptych.training.run import train_run

    run_config = compose_run(overrides)
    show_messages()
    try:
        train_run(run_config)
    except RunLocked as locked:
        raise UserError(f"another process trains {locked}; wait for it, or give another output=….") from locked


def _sweep(arguments: list[str], overrides: list[str], config: DictConfig, arms: list[list[str]]) -> int:
    from triptych.commands.console import show_messages
    from triptych.sweeps.sweep import Sweep

    sweep = Sweep(overrides, config, arms)
    show_messages()
    sweep.run(prepare=show_messages)
    problems = sweep.problems()
    total = len(sweep.arms)
    logger.info("%d of %d arms are finished: %s", total - max(0, len(problems) - 1), total, sweep.output)
    for problem in problems[:-1]:
        logger.error(problem)
    if problems:
        logger.error("%s; again: %s", problems[-1], shlex.join(["triptych", "train", *arguments]))
    return 2 if problems else 0
