"""The tables of a report as text: the comparison with published figures, the validation curves, BLEU by length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from triptych.reports.arm_rows import ArmRow, runs_of
from triptych.reports.stored_run import StoredRun, metric_names, other_scores, test_sets
from triptych.reports.study import Published

MISSING = "–"
PUBLISHED = "published"
"""The upper header over the published figures. Over the scores of a test set stands the name of the set."""


@dataclass(frozen=True)
class Table:
    """A table, ready for any format.

    Attributes:
        title: the heading.
        cells: text, with columns (upper header, header). The first column labels the line.
        notes: sentences below the table, a line each.
        rows: the arms of its first lines, in order. Lines after those have no run.
        best: positions (line, column) of the cells in bold.
    """

    title: str
    cells: pd.DataFrame
    notes: Sequence[str] = ()
    rows: Sequence[ArmRow] = ()
    best: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Column:
    """One column of figures.

    Attributes:
        key: the column of ``average_seeds`` that it shows.
        header: its header.
        format: how Python prints a figure.
        scale: the unit, in plain units.
        measured: whether seeds differ in it by chance, so that a standard deviation is shown.
        test_set: the test set that it is a score of, empty if it is none.
    """

    key: str
    header: str
    format: str
    scale: float = 1.0
    measured: bool = True
    test_set: str = ""


COSTS = (
    Column("parameters", "parameters (M)", ".2f", 1e6, measured=False),
    Column("parameters_non_embedding", "non-embedding (M)", ".2f", 1e6, measured=False),
    Column("tokens_src", "source tokens (M)", ".2f", 1e6, measured=False),
    Column("tokens_tgt", "target tokens (M)", ".2f", 1e6, measured=False),
    Column("flops", "FLOPs (analytic)", ".2e", measured=False),
    Column("flops_6nd", "FLOPs (6ND)", ".2e", measured=False),
)
SPEED = Column("tokens_per_second", "tokens/s", ",.0f")
PERPLEXITY = Column("validation_perplexity", "validation perplexity", ".2f")
SCORES = {
    "bleu": ("BLEU", ".2f"),
    "bleu_brevity_penalty": ("brevity penalty", ".3f"),
    "bleu_length_ratio": ("length ratio", ".3f"),
    "bleu_lc_norm_tok": ("BLEU lc.norm.tok", ".2f"),
    "chrf": ("chrF", ".2f"),
    "chrfpp": ("chrF++", ".2f"),
    "sentence_bleu_pieces": ("sentence BLEU over pieces", ".2f"),
    "ter": ("TER", ".2f"),
    "comet": ("COMET", ".4f"),
    "nats_per_sentence": ("nats/sentence", ".3f"),
    "nats_per_word": ("nats/word", ".4f"),
    "repetition_rate": ("repetition rate", ".4f"),
    "cut_share": ("share cut", ".4f"),
    "length_penalty": ("length penalty", ".2g"),
    "bleu_at_common_penalty": ("BLEU at length penalty 0.6", ".2f"),
}
"""Scores of a test set: the header and the format of each. Other metrics have their name and ``OTHER_FORMAT``."""
OTHER_FORMAT = ".4g"
NARROW = ("model", "parameters (M)", "FLOPs (analytic)", "validation perplexity", "BLEU")
"""Columns of measured figures that a narrow table keeps."""
TIMES = (("seconds", 1.0, 600.0), ("minutes", 60.0, 36_000.0), ("hours", 3600.0, float("inf")))
"""Units of time, each with its length in seconds and the number of seconds from which the next unit is used."""


def average_seeds(rows: Sequence[ArmRow]) -> pd.DataFrame:
    """Return the figures of each arm, in plain units, the mean over its seeds.

    Returns:
        A line for each row. Columns: ``label``, ``seeds`` (the number of finished ones), ``runs`` (their names), and
        for each figure its mean, its standard deviation (``_std``, ddof=1) and the number of seeds that have it
        (``_count``). NaN where nothing was measured.
    """
    lines = []
    for row in rows:
        line: dict[str, object] = {"label": row.label, "seeds": len(row.finished)}
        line["runs"] = "; ".join(run.name for run in row.runs)
        frame = pd.DataFrame([_figures(run) for run in row.finished])
        for key in frame.columns:
            line |= {key: frame[key].mean(), f"{key}_std": frame[key].std(), f"{key}_count": frame[key].count()}
        lines.append(line)
    return pd.DataFrame(lines)


def time_unit(longest: float) -> tuple[str, float]:
    """Return the unit that suits a time, and the number of seconds in it.

    Args:
        longest: the longest time to print, in seconds.
    """
    return next((unit, scale) for unit, scale, most in TIMES if longest < most)


def columns(runs: Sequence[StoredRun]) -> list[Column]:
    """Return the columns of the comparison: costs, time in a unit that suits the longest run, scores by test set."""
    longest = max(((run.result or {}).get("train", {}).get("seconds") or 0.0 for run in runs), default=0.0)
    unit, scale = time_unit(longest)
    found = [*COSTS, Column("seconds", unit, ".1f", scale), SPEED, PERPLEXITY]
    for test_set in test_sets(runs):
        for name in score_names(runs, test_set):
            form = SCORES[name][1] if name in SCORES else OTHER_FORMAT
            found.append(Column(f"{test_set}/{name}", score_header(name), form, test_set=test_set))
    return found


def score_names(runs: Sequence[StoredRun], test_set: str) -> list[str]:
    """Return the scores that any run has of a test set, in the order of the table."""
    found = metric_names(runs, test_set)
    found += dict.fromkeys(name for run in runs for name in other_scores(run.tests.get(test_set, {})))
    return [name for name in SCORES if name in found] + [name for name in found if name not in SCORES]


def score_header(name: str) -> str:
    """Return the header of a score's column."""
    return SCORES[name][0] if name in SCORES else name


def comparison(
    title: str, rows: Sequence[ArmRow], published: Published, leaders: Mapping[str, ArmRow | None], notes: Sequence[str]
) -> Table:
    """Return the table of all arms, with several seeds as ``mean ± std``, and of the published figures.

    Args:
        title: the heading.
        rows: the arms, in the order of the table.
        published: the last columns. Published arms that are not among ``rows`` get lines of their own at the end.
        leaders: for each test set, the arm whose BLEU is set in bold.
        notes: the sentences below the table.
    """
    shown = columns(runs_of(rows))
    arms = {row.arm for row in rows}
    cells = [
        [_label(row), *(_cell(line, column) for column in shown), *published.beside(row.arm)]
        for row, line in zip(rows, average_seeds(rows).to_dict("records"), strict=True)
    ]
    cells += [[arm, *[""] * len(shown), *figures] for arm, figures in published.cells.items() if arm not in arms]
    header = [("", "model"), *((column.test_set, column.header) for column in shown)]
    header += [(PUBLISHED, name) for name in published.header]
    best = {
        (i, j)
        for j, column in enumerate(shown, start=1)
        for i, row in enumerate(rows)
        if column.key == f"{column.test_set}/bleu" and leaders.get(column.test_set) is row
    }
    frame = pd.DataFrame(cells, columns=pd.MultiIndex.from_tuples(header))
    return Table(title, frame, notes, rows, frozenset(best))


def narrow(table: Table) -> Table:
    """Return the comparison for a printed page: parameters, FLOPs, perplexities and BLEU, measured and published."""
    header = enumerate(table.cells.columns)
    kept = [j for j, (upper, name) in header if name in NARROW or (upper == PUBLISHED and _is_quality(name))]
    best = frozenset((i, kept.index(j)) for i, j in table.best)
    return replace(table, cells=table.cells.iloc[:, kept], best=best)


def _is_quality(header: str) -> bool:
    return "BLEU" in header or "perplexity" in header


def validation(rows: Sequence[ArmRow], metric: str, title: str, form: str) -> Table | None:
    """Return a validation metric by step, the mean over an arm's seeds; None if no run has logged it.

    Args:
        rows: the arms; each that has the metric is a line.
        metric: ``loss`` or ``bleu``.
        title: the heading.
        form: how Python prints a value.

    Returns:
        At most eight steps, a column each, the last step among them.
    """
    curves = {
        row.label: pd.concat([run.curve(metric) for run in row.runs]).groupby("step")["value"].mean()
        for row in rows
        if row.runs
    }
    frame = pd.DataFrame({label: curve for label, curve in curves.items() if len(curve)}).T
    if frame.empty:
        return None
    every = -(-len(frame.columns) // 8)
    frame = frame[frame.columns[::-1][::every][::-1]]
    cells = [
        [label, *(MISSING if pd.isna(value) else format(value, form) for value in line)]
        for label, line in zip(frame.index, frame.to_numpy(), strict=True)
    ]
    header = [("", "model"), *(("", f"step {int(step):,}") for step in frame.columns)]
    shown = [row for row in rows if row.label in frame.index]
    return Table(title, pd.DataFrame(cells, columns=pd.MultiIndex.from_tuples(header)), rows=shown)


def bleu_by_length(rows: Sequence[ArmRow], test_set: str) -> Table | None:
    """Return the BLEU of each range of source lengths (in words), the mean over an arm's seeds.

    The last line has the number of sentences. None if no run has such figures, or there is only one range.
    """
    found = {
        row.label: pd.DataFrame(parts).dropna(subset="bleu")
        for row in rows
        if (parts := [part for run in row.finished for part in run.tests.get(test_set, {}).get("by_length") or []])
    }
    if not found:
        return None
    ranges = pd.concat(found.values()).drop_duplicates("label").sort_values("low")
    if len(ranges) < 2:
        return None
    cells = []
    for label, frame in found.items():
        means = frame.groupby("label")["bleu"].mean().reindex(ranges["label"])
        cells.append([label, *(MISSING if pd.isna(mean) else f"{mean:.2f}" for mean in means)])
    cells.append(["sentences", *(f"{count:,}" for count in ranges["sentences"])])
    header = [("", "words"), *(("", label) for label in ranges["label"])]
    frame = pd.DataFrame(cells, columns=pd.MultiIndex.from_tuples(header))
    return Table(f"BLEU by source length, {test_set}", frame, rows=[row for row in rows if row.label in found])


def _figures(run: StoredRun) -> dict[str, float]:
    """Return every figure of a finished run, in its plain unit; NaN where nothing was measured."""
    result = run.result or {}
    model, train, validation = (result.get(part) or {} for part in ("model", "train", "validation"))
    sources = {"parameters": model, "parameters_non_embedding": model}
    keys = [*(column.key for column in COSTS), "steps", "seconds", "tokens_per_second", "mfu", "peak_memory_bytes"]
    figures = {key: sources.get(key, train).get(key) for key in keys}
    figures |= {f"validation_{key}": validation.get(key) for key in ("loss", "perplexity")}
    for test_set, scores in run.tests.items():
        values = {**scores, **other_scores(scores)}
        figures |= {f"{test_set}/{name}": values.get(name) for name in score_names([run], test_set)}
    return {key: float("nan") if value is None else float(value) for key, value in figures.items()}


def _label(row: ArmRow) -> str:
    seeds = len(row.finished)
    return f"{row.label} ({seeds} seeds)" if seeds > 1 else row.label


def _cell(line: Mapping[str, float], column: Column) -> str:
    mean, seeds = line.get(column.key), line["seeds"]
    if mean is None or pd.isna(mean):
        return MISSING
    text = format(mean / column.scale, column.format)
    count = int(line[f"{column.key}_count"])
    if column.measured and count > 1:
        text += f" ± {format(line[f'{column.key}_std'] / column.scale, column.format)}"
    return text if count == seeds else f"{text} ({count} of {seeds})"
