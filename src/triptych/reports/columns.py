"""The figures of an arm: which there are, their headers, and how a mean over seeds is printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from triptych.reports.arm_rows import ArmRow
from triptych.reports.scores import KNOWN, describe
from triptych.reports.stored_run import StoredRun, metric_names, other_scores, test_sets
from triptych.reports.table import MISSING


@dataclass(frozen=True)
class Column:
    """One column of figures.

    Attributes:
        key: the column of ``average_seeds`` that it shows.
        header: its header.
        format: how Python prints a figure.
        scale: the unit, in plain units.
        varies_by_seed: whether seeds differ in it by chance, so that a standard deviation is shown.
        test_set: the test set that it is a score of, empty if it is none.
    """

    key: str
    header: str
    format: str
    scale: float = 1.0
    varies_by_seed: bool = True
    test_set: str = ""


PARAMETERS = Column("parameters", "params (M)", ".2f", 1e6, varies_by_seed=False)
COSTS = (
    PARAMETERS,
    Column("parameters_non_embedding", "non-embedding (M)", ".2f", 1e6, varies_by_seed=False),
    Column("tokens_src", "source tokens (M)", ".2f", 1e6, varies_by_seed=False),
    Column("tokens_tgt", "target tokens (M)", ".2f", 1e6, varies_by_seed=False),
    Column("flops", "training FLOPs", ".2e", varies_by_seed=False),
)
SPEED = Column("tokens_per_second", "tokens/s", ",.0f")
VALIDATION = (
    Column("validation_loss", "validation loss", ".3f"),
    Column("validation_perplexity", "validation perplexity", ".2f"),
)
TIMES = (("seconds", 1.0, 600.0), ("minutes", 60.0, 36_000.0), ("hours", 3600.0, float("inf")))
"""Units of time, each with its length in seconds and the number of seconds from which the next unit is used."""


def average_seeds(rows: Sequence[ArmRow]) -> pd.DataFrame:
    """Return the figures of each arm, in plain units, the mean over its seeds.

    Returns:
        A line for each row. Columns: ``label``, ``arm`` (the overrides that tell it from others), ``seeds`` (the number
        of finished ones), ``runs`` (their names), and for each figure its mean, its standard deviation (``_std``,
        ddof=1) and the number of seeds that have it (``_count``). NaN where nothing was measured.
    """
    lines = []
    for row in rows:
        line: dict[str, object] = {"label": row.label, "arm": row.arm, "seeds": len(row.finished)}
        line["runs"] = "; ".join(run.name for run in row.runs)
        frame = pd.DataFrame([_figures(run) for run in row.finished])
        for key in frame.columns:
            line |= {key: frame[key].mean(), f"{key}_std": frame[key].std(), f"{key}_count": frame[key].count()}
        lines.append(line)
    return pd.DataFrame(lines)


def is_shared(lines: Sequence[Mapping[str, float]], key: str) -> bool:
    """Return whether several arms have a figure in common: every seed has it, and the means are the same.

    Args:
        lines: of ``average_seeds``, one for each finished arm.
        key: the figure.
    """
    complete = all(line.get(f"{key}_count") == line["seeds"] for line in lines)
    return len(lines) > 1 and complete and len({line.get(key) for line in lines}) == 1


def print_cell(line: Mapping[str, float], column: Column) -> str:
    """Return a figure of one arm as a table shows it: its mean, and ± its standard deviation over seeds.

    Args:
        line: of ``average_seeds``.
        column: the figure.
    """
    mean, seeds = line.get(column.key), line["seeds"]
    if mean is None or pd.isna(mean):
        return MISSING
    text = format(mean / column.scale, column.format)
    count = int(line[f"{column.key}_count"])
    if column.varies_by_seed and count > 1:
        text += f" ± {format(line[f'{column.key}_std'] / column.scale, column.format)}"
    return text if count == seeds else f"{text} ({count} of {seeds})"


def cost_columns(runs: Sequence[StoredRun]) -> list[Column]:
    """Return the columns of costs, with the time in a unit that suits the longest run."""
    longest = max(((run.result or {}).get("train", {}).get("seconds") or 0.0 for run in runs), default=0.0)
    unit, scale = time_unit(longest)
    return [*COSTS, Column("seconds", unit, ".1f", scale), SPEED]


def score_columns(runs: Sequence[StoredRun], test_set: str) -> list[Column]:
    """Return the columns of the scores that any run has of a test set."""
    return [score_column(name, test_set) for name in score_names(runs, test_set)]


def score_column(name: str, test_set: str) -> Column:
    """Return the column of one score of a test set."""
    score = describe(name)
    return Column(f"{test_set}/{name}", score.header, score.python_format, test_set=test_set)


def score_names(runs: Sequence[StoredRun], test_set: str) -> list[str]:
    """Return the scores that any run has of a test set, in the order of a table."""
    found = metric_names(runs, test_set)
    found += dict.fromkeys(name for run in runs for name in other_scores(run.tests.get(test_set, {})))
    return [name for name in KNOWN if name in found] + [name for name in found if name not in KNOWN]


def time_unit(longest: float) -> tuple[str, float]:
    """Return the unit that suits a time, and the number of seconds in it.

    Args:
        longest: the longest time to print, in seconds.
    """
    return next((unit, scale) for unit, scale, most in TIMES if longest < most)


def _figures(run: StoredRun) -> dict[str, float]:
    """Return every figure of a finished run, in its plain unit; NaN where nothing was measured."""
    result = run.result or {}
    model, train, validation = (result.get(part) or {} for part in ("model", "train", "validation"))
    sources = {"parameters": model, "parameters_non_embedding": model}
    keys = [*(column.key for column in COSTS), "steps", "seconds", "tokens_per_second", "mfu", "peak_memory_bytes"]
    figures = {key: sources.get(key, train).get(key) for key in keys}
    figures |= {f"validation_{key}": validation.get(key) for key in ("loss", "perplexity")}
    for test_set in test_sets([run]):
        scores = run.tests[test_set]
        values = {**scores, **other_scores(scores)}
        figures |= {f"{test_set}/{name}": values.get(name) for name in score_names([run], test_set)}
    figures |= {f"suites/{name}": scores["accuracy"] for name, scores in run.suites.items()}
    return {key: float("nan") if value is None else float(value) for key, value in figures.items()}
