"""``triptych train``: train a run, or every arm of a sweep."""

from __future__ import annotations

import logging
import shlex

from omegaconf import DictConfig

from triptych.commands.arguments import overrides_of, show, shows_only
from triptych.commands.printing import show_next
from triptych.commands.threads import choose_threads
from triptych.config.composition import MULTIRUN, compose_run, sweep_of
from triptych.config.next_step import after_sweep, after_training

logger = logging.getLogger(__name__)


def main(arguments: list[str]) -> int:
    """Train one run, or all arms of a sweep.

    Raises:
        UserError: a mistake in the configuration. An arm of a sweep reports its own.
    """
    if shows_only(arguments):
        return show("train", arguments)
    with overrides_of("train", arguments) as given:
        overrides = [one for one in given if one not in MULTIRUN]
        if found := sweep_of(given):
            return _sweep(arguments, overrides, *found)
        _train(overrides)
    return 0


def _train(overrides: list[str]) -> None:
    run_config = compose_run(overrides)  # first, as the imports take seconds and most mistakes are found without them
    from triptych.commands.console import show_messages
    from triptych.runs.result_file import read_result
    from triptych.training.distributed import is_rank_zero
    from triptych.training.run import train_run
    from triptych.training.starter import end_rank

    show_messages()
    if run_config.processes == 1:  # of several, each would find the others busy
        choose_threads()
    folder = train_run(run_config)
    if not is_rank_zero():
        end_rank()
    diverged = read_result(folder).get("diverged", False)
    show_next(after_sweep(folder.path) if diverged else after_training(folder.path))


def _prepare() -> None:
    """Prepare a process, which may be a launcher's, for the arms that it trains."""
    from triptych.commands.console import show_messages

    show_messages()
    choose_threads()


def _sweep(arguments: list[str], overrides: list[str], config: DictConfig, arms: list[list[str]]) -> int:
    from triptych.commands.console import show_messages
    from triptych.sweeps.begin import begin_sweep

    sweep = begin_sweep(overrides, config, arms)
    show_messages()
    sweep.run(prepare=_prepare)
    problems = sweep.problems()
    logger.info("%d of %d arms are finished: %s", len(sweep.runs), len(sweep.arms), sweep.output)
    for problem in problems[:-1]:
        logger.error(problem)
    if problems:
        logger.error("%s; again: %s", problems[-1], shlex.join(["triptych", "train", *arguments]))
        return 2
    show_next(after_sweep(sweep.output))
    return 0
