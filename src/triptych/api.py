"""The Python API: train, sweep, forecast, report, evaluate, score and load, without a command line.

Every function raises ``triptych.errors.UserError`` for a mistake that the caller can mend, in one sentence. Messages go
to the logger ``triptych``: ``logging.basicConfig(level=logging.INFO)`` shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from triptych.config.arguments import checked
from triptych.config.composition import arms_of, compose_command, compose_run, sweep_of
from triptych.config.explanations import explained
from triptych.config.quoting import in_quotes, quoted_text
from triptych.config.search_path import with_own_folders
from triptych.data.contrast import SUITES
from triptych.errors import UserError
from triptych.runs.run import Run, load, run_of
from triptych.runs.stored_config import vouched_for

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Run", "evaluate", "forecast", "load", "report", "score", "sweep", "train"]

Folders = str | Path | Sequence[str | Path]
"""One folder of a user's own configuration files, or several."""


@checked
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
        run_config = compose_run(overrides)
        return Run(train_run(run_config).path, trust=vouched_for(run_config.config))


@checked
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
        configs = [one.config for one in started.run_configs] or [found[0]]
        trust = list(dict.fromkeys(value for config in configs for value in vouched_for(config)))
        return [Run(folder.path, trust=trust) for folder in started.runs]


@checked
def forecast(
    *overrides: str,
    device: str | None = None,
    measure: int | None = None,
    pairs: int | None = None,
    price: float | None = None,
    config_dir: Folders = (),
) -> pd.DataFrame:
    """Estimate what a run or a sweep will cost, without training it.

    Args:
        overrides: as for ``train`` or ``sweep``.
        device: name of a GPU, such as ``"H100"``; None for where the strategy would train on this machine.
        measure: optimizer steps to train each arm for, to know its speed on this machine.
        pairs: number of sentence pairs to train on, where the text is not at hand; their lengths are assumed.
        price: price of one device for one hour.
        config_dir: folders with configuration files of your own.

    Returns:
        A row for each arm: parameters, steps, tokens, FLOPs, seconds, bytes of disk and memory, tokens per second, and
        the price if one is given.

    Raises:
        UserError: whatever training would refuse.
    """
    from triptych.sweeps.forecast import forecast_arms
    from triptych.sweeps.forecast_figures import figures

    with _own_configuration("train", overrides, config_dir):
        return figures(forecast_arms(overrides, device, measure, pairs), price)


@checked
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


@checked
def evaluate(
    run: Run | str | Path | None = None,
    *overrides: str,
    split: str | None = None,
    input: str | Path | None = None,
    reference: str | Path | None = None,
    hypothesis: str | Path | None = None,
) -> dict[str, Any]:
    """Score a split or a text that a trained run translates, or the translations of another system.

    Args:
        run: trained, or its folder; None only with ``hypothesis``. A ``Run`` keeps its checkpoint, device, precision
            and trust unless an override names others.
        overrides: such as ``"search.beam_size=8", "metric=[bleu]", "checkpoint=last"``; by default as the run was
            scored.
        split: ``validation``, a test set of the run's data, or ``suites`` for its contrastive suites. Scores and
            translations of a split are also kept in the run's folder, unless it is that of a demo run.
        input: instead of a split, a file of sources, one sentence a line.
        reference: file with a translation of each line of ``input`` or ``hypothesis``.
        hypothesis: file with translations of any system.

    Returns:
        Scores and their signatures, as ``test.<split>`` of result.json; of the suites, as ``suites``.

    Raises:
        UserError: a mistake in the overrides, an unknown split, files that cannot be used, or text that has changed
            since the run was trained.
    """
    from triptych.evaluation.run import evaluate_run, evaluate_run_on_suites
    from triptych.evaluation.text import evaluate_files

    files = {"input": input, "reference": reference, "hypothesis": hypothesis}
    for key, value in {"split": split, **files}.items():
        if value is not None and any(one.startswith(f"{key}=") for one in overrides):
            raise UserError(f"{key} is given twice, by name and as an override; give it once.")
    with _configured("evaluate", run, [*([f"split={split}"] if split else []), *overrides], files) as (config, trained):
        if config.split is None:
            return evaluate_files(config, trained).scores
        assert trained is not None
        if config.split == SUITES:
            return evaluate_run_on_suites(trained, config.suite_items, config.search_tokens).scores
        return evaluate_run(trained, config.split, config.search, config.metric, config.search_tokens).scores


@checked
def score(run: Run | str | Path, *overrides: str, input: str | Path, reference: str | Path) -> dict[str, Any]:
    """Return how likely a trained run finds the references of a text, given their sources.

    Args:
        run: as for ``evaluate``.
        overrides: such as ``"checkpoint=last"``, or ``"tgt=de"`` for a run of several directions.
        input: file of sources, one sentence a line.
        reference: file with a translation of each.

    Returns:
        ``log_probabilities`` in nats, one of each reference with its ``</s>``, ``nats_per_sentence`` and
        ``nats_per_word``.

    Raises:
        UserError: a mistake in the overrides, or files that cannot be used. ``Run.score`` takes lists of lines.
    """
    from triptych.evaluation.text import read_text, score_text

    with _configured("score", run, overrides, {"input": input, "reference": reference}) as (config, trained):
        assert trained is not None
        text = read_text(config.input, config.reference)
        direction = trained.translator.directions.choose(config.src, config.tgt)
        return score_text(trained, text, direction, config.search_tokens)


@contextmanager
def _configured(
    command: str, run: Run | str | Path | None, overrides: Sequence[str], files: Mapping[str, str | Path | None]
) -> Iterator[tuple[DictConfig, Run | None]]:
    """Give the configuration of a command on a run, and the run that it names.

    That is the one given, with its model if it is loaded, unless an override names another run, checkpoint, device or
    precision.
    """
    paths = {**files, "run": run.folder if isinstance(run, Run) else run}
    given = [quoted_text(key, str(path)) for key, path in paths.items() if path is not None]
    of_run: list[str] = []  # which the caller has not given to this function
    if isinstance(run, Run):
        of_run = [
            f"checkpoint={run.checkpoint}",
            f"device={run.device}",
            f"precision={run.precision}",
            f"trust=[{','.join(map(in_quotes, run.trusted))}]",
        ]
        if command == "evaluate":
            for key, further in (("ensemble", run.others), ("rerank", run.rerankers)):
                of_run.append(f"{key}=[{','.join(in_quotes(str(one.folder)) for one in further)}]")
    with _own_configuration(command, [*of_run, *given, *overrides], ()):
        config = compose_command(command, [*given, *overrides], inherited=of_run)
        if isinstance(run, Run) and run.is_that_of(config):
            yield config, run
        else:
            yield config, None if config.run is None else run_of(config)


@contextmanager
def _own_configuration(command: str, overrides: Sequence[str], folders: Folders) -> Iterator[None]:
    """Use the user's configuration folders, and turn Hydra's errors into sentences."""
    listed = [folders] if isinstance(folders, str | Path) else list(folders)
    with explained(command, overrides), with_own_folders(listed, overrides):
        yield
