"""The Python API: train, sweep, forecast, report, evaluate and load, without a command line.

Every function raises ``triptych.errors.UserError`` for a mistake that the caller can mend, in one sentence. Messages go
to the logger ``triptych``: ``logging.basicConfig(level=logging.INFO)`` shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.config.composition import arms_of, compose_command, compose_run, sweep_of
from triptych.config.explanations import explained
from triptych.config.search_path import with_own_folders
from triptych.data.contrast import SUITES
from triptych.errors import UserError
from triptych.runs.run import Run, load

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Run", "evaluate", "forecast", "load", "report", "sweep", "train"]

Folders = str | Path | Sequence[str | Path]
"""One folder of a user's own configuration files, or several."""


def train(*overrides: str, config_dir: Folders = ()) -> Run:
    """Train and score one run. A finished run is returned as it is; an interrupted one resumes.

    Args:
        overrides: as on the command line, such as ``"model=lm4mt", "scale=smoke"``.
        config_dir: folders with configuration files of your own.

    Raises:
        UserError: a mistake in the configuration, several runs at once, or another process trains this run.
    """
    from triptych.training.run import train_run

    with _own_configuration("train", overrides, config_dir):
        if sweep_of(overrides):
            raise UserError(f"{' '.join(overrides)} names several runs; use triptych.sweep.")
        return Run(train_run(compose_run(overrides)).path)


def sweep(*overrides: str, config_dir: Folders = ()) -> list[Run]:
    """Train and score every arm of a sweep, and return the runs in the order of the arms.

    Args:
        overrides: as on the command line; a key with several values, such as ``"seed=1,2"``, or an ``experiment=…``.
        config_dir: folders with configuration files of your own.

    Raises:
        UserError: a mistake in the configuration, before any arm runs; or, after the last, arms that failed.
    """
    from triptych.sweeps.sweep import Sweep

    with _own_configuration("train", overrides, config_dir):
        found = arms_of("train", [*overrides, "-m"])
        assert found is not None
        started = Sweep(overrides, *found)
        started.run()
        if problems := started.problems():
            raise UserError(f"{problems[-1]}: {'; '.join(problems[:-1])}")
        return [Run(folder.path) for folder in started.runs]


def forecast(
    *overrides: str, device: str | None = None, measure: int | None = None, config_dir: Folders = ()
) -> pd.DataFrame:
    """Estimate what a run or a sweep will cost, without training it.

    Args:
        overrides: as for ``train`` or ``sweep``.
        device: name of a GPU, such as ``"H100"``; None for where the strategy would train on this machine.
        measure: optimizer steps to train each arm for, to know its speed on this machine.
        config_dir: folders with configuration files of your own.

    Returns:
        A row for each arm: parameters, steps, tokens, FLOPs, seconds, bytes of disk and memory, tokens per second.

    Raises:
        UserError: whatever training would refuse.
    """
    from triptych.sweeps.forecast import figures, forecast_arms

    with _own_configuration("train", overrides, config_dir):
        return figures(forecast_arms(overrides, device, measure))


def report(folder: str | Path, *, unequal: bool = False) -> pd.DataFrame:
    """Return the table that compares the runs below a folder, a row for each arm.

    Args:
        folder: of runs, or of a study in experiments/.
        unequal: show also arms that were trained on different tokens.

    Raises:
        UserError: no runs, a damaged file, or scores that cannot be compared.
    """
    from triptych.reports.build import report as build_report

    return build_report(Path(folder).expanduser(), unequal=unequal).table


def evaluate(run: Run | str | Path, *overrides: str, split: str) -> dict[str, Any]:
    """Translate and score a split with a trained run; scores and translations are also kept in its folder.

    Args:
        run: trained, or its folder.
        overrides: such as ``"search.beam_size=8", "metric=[bleu]", "checkpoint=last"``; by default as the run was
            scored.
        split: ``validation``, a test set of the run's data, or ``suites`` for its contrastive suites.

    Returns:
        Scores and their signatures, as ``test.<split>`` of result.json; of the suites, as ``suites``.

    Raises:
        UserError: a mistake in the overrides, an unknown split, or text that has changed since the run was trained.
    """
    from triptych.evaluation.run import evaluate_run, evaluate_run_on_suites

    trained = run if isinstance(run, Run) else Run(run)
    own = [f"checkpoint={trained.checkpoint}", f"device={trained.device}"]
    given = [f"run={str(trained.folder)!r}", f"split={split}", *own, *overrides]
    with _own_configuration("evaluate", given, ()):
        config = compose_command("evaluate", given)
        if (config.checkpoint, config.device) != (trained.checkpoint, trained.device):
            trained = Run(trained.folder, config.checkpoint, config.device)
        if config.split == SUITES:
            return evaluate_run_on_suites(trained, config.suite_items, config.search_tokens)
        return evaluate_run(trained, config.split, config.search, config.metric, config.search_tokens).scores


@contextmanager
def _own_configuration(command: str, overrides: Sequence[str], folders: Folders) -> Iterator[None]:
    """Use the user's configuration folders, and turn Hydra's errors into sentences."""
    listed = [folders] if isinstance(folders, str | Path) else list(folders)
    with explained(command, overrides), with_own_folders(listed):
        yield
