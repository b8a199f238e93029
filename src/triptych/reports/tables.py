"""The tables of a report as text: the comparison, seeds folded and published figures beside them, and the curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from triptych.reports.comparability import on_one_stream, stream_of
from triptych.reports.rows import Row, runs_of
from triptych.reports.stored_runs import Run, test_sets
from triptych.reports.study import Published, Study

MISSING = "–"
PUBLISHED = "published"
"""The head that spans the published figures; a test set's name is the one over its scores."""


@dataclass(frozen=True)
class Table:
    """A table as every format shows it.

    Attributes:
        title: its heading.
        cells: text, with columns (spanning head, header); the first is the label of a line.
        notes: a line each, below it.
        rows: the arms behind its lines, in order; a line past them has no run.
        best: places (line, column) that are set in bold.
    """

    title: str
    cells: pd.DataFrame
    notes: Sequence[str] = ()
    rows: Sequence[Row] = ()
    best: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Column:
    """One column of measured figures: the key in the frame, its header and test set, the unit, and how to print it."""

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
SCORES = (
    ("bleu", "BLEU", ".2f"),
    ("chrf", "chrF", ".2f"),
    ("sentence_bleu_pieces", "sentence BLEU over pieces", ".2f"),
)
NARROW = ("model", "parameters (M)", "FLOPs (analytic)", "validation perplexity", "BLEU")
"""Columns that a narrow table has of ours."""
TIMES = (("seconds", 1.0, 600.0), ("minutes", 60.0, 36_000.0), ("hours", 3600.0, float("inf")))
"""Units of time, and the seconds from which the next is used."""


def fold(rows: Sequence[Row]) -> pd.DataFrame:
    """A line a row: every figure in its plain unit, the mean over seeds, beside it ``_std`` (ddof=1) and ``_count``.

    Before them ``label``, ``seeds`` (how many have finished) and ``runs`` (the names of the folders). What has not
    been measured is NaN.
    """
    folded = []
    for row in rows:
        line: dict[str, object] = {"label": row.label, "seeds": len(row.finished)}
        line["runs"] = "; ".join(run.name for run in row.runs)
        frame = pd.DataFrame([_figures(run) for run in row.finished])
        for key in frame.columns:
            line |= {key: frame[key].mean(), f"{key}_std": frame[key].std(), f"{key}_count": frame[key].count()}
        folded.append(line)
    return pd.DataFrame(folded)


def time_unit(longest: float) -> tuple[str, float]:
    """The unit that suits a time in seconds, and how many seconds it has."""
    return next((unit, scale) for unit, scale, most in TIMES if longest < most)


def columns(runs: Sequence[Run]) -> list[Column]:
    """The columns of the table, time in the unit that suits the longest run, then three for every test set."""
    longest = max(((run.result or {}).get("train", {}).get("seconds") or 0.0 for run in runs), default=0.0)
    unit, scale = time_unit(longest)
    found = [*COSTS, Column("seconds", unit, ".1f", scale), SPEED, PERPLEXITY]
    for test_set in test_sets(runs):
        found += [Column(f"{test_set}/{key}", header, style, test_set=test_set) for key, header, style in SCORES]
    return found


def comparison(
    title: str, rows: Sequence[Row], published: Published, leaders: Mapping[str, Row | None], notes: Sequence[str]
) -> Table:
    """The table of all arms, several seeds as ``mean ± std``, and of the figures published for them and for others.

    Args:
        title: its heading.
        rows: the arms, in its order.
        published: stands in the last columns, and below the arms where it is of none of them.
        leaders: of each test set, the arm whose BLEU is set in bold.
        notes: what is said below it.
    """
    shown = columns(runs_of(rows))
    arms = {row.arm for row in rows}
    cells = [
        [_label(row), *(_cell(line, column) for column in shown), *published.beside(row.arm)]
        for row, line in zip(rows, fold(rows).to_dict("records"), strict=True)
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
    """What a page of paper has room for of the comparison: sizes, FLOPs, perplexities and BLEU, ours and published."""
    columns = list(enumerate(table.cells.columns))
    kept = [j for j, (span, header) in columns if header in NARROW or (span == PUBLISHED and _is_quality(header))]
    best = frozenset((i, kept.index(j)) for i, j in table.best)
    return replace(table, cells=table.cells.iloc[:, kept], best=best)


def _is_quality(header: str) -> bool:
    return "BLEU" in header or "perplexity" in header


def made(runs: Sequence[Run]) -> list[str]:
    """How the scores came about: what the runs of a seed trained on, and a line for each test set and metric."""
    results = {run.folder: run.result for run in runs if run.result}
    first: dict[int | None, Run] = {}
    pairs = [(run, first.setdefault(run.seed, run)) for run in runs if run.result]
    lines = [f"Budget: {budgets}."] if (budgets := " or ".join(dict.fromkeys(filter(None, map(_budget, runs))))) else []
    if len(pairs) > len(first):
        lines.append(
            "Every run of a seed was trained on the same tokens in the same order."
            if all(stream_of(run) == stream_of(other) for run, other in pairs)
            else "Equal FLOPs: of two runs of a seed, one was trained on the beginning of the other's tokens."
            if all(on_one_stream(run, other) for run, other in pairs)
            else "The runs were NOT all trained on the same tokens in the same order (see result.json)."
        )
        if len({str(result.get("tokenizer")) for result in results.values()}) > 1:
            lines.append(
                "The runs differ in what a piece is: what is counted by the piece (perplexity, loss, sentence "
                "BLEU over pieces) cannot be compared."
            )
    if adopted := sum("weights_of" in result for result in results.values()):
        lines.append(
            f"{adopted} of {len(results)} runs have the weights of another (weights_of in result.json), trained once: "
            "its costs and its curve stand in each of their rows."
        )
    sources = {result.get("versions", {}).get(key) for result in results.values() for key in ("source", "begun")}
    if len(sources - {None}) > 1:
        lines.append(f"The runs are of {len(sources - {None})} versions of the code (versions in result.json).")
    for test_set in test_sets(runs):
        scores = [run.tests[test_set] for run in runs if test_set in run.tests]
        lines += [
            f"{test_set}: BLEU {_either(scores, 'bleu_signature')}",
            f"{test_set}: chrF {_either(scores, 'chrf_signature')}",
            f"{test_set}: {_either(scores, 'sentences')} sentences, beam {_either(scores, 'beam_size')}, "
            f"length penalty {_either(scores, 'length_penalty')}",
        ]
    return lines


def seeds(rows: Sequence[Row]) -> list[str]:
    """Which seeds each arm has, where they have not the same."""
    found = {row.label: sorted({run.seed for run in row.finished if run.seed is not None}) for row in rows}
    told = "; ".join(f"{label} {', '.join(map(str, each))}" for label, each in found.items() if each)
    return [f"The arms differ in their seeds: {told}."] if len({*map(tuple, filter(None, found.values()))}) > 1 else []


def _budget(run: Run) -> str:
    """``1,200 steps, 4,096 padded tokens a batch``; of several batches a step, how many."""
    given = {key: value for key, value in (run.config.get("budget") or {}).items() if value is not None}
    batch = run.config.get("batch") or {}
    told = [f"{value:.3g} FLOPs" if key == "flops" else f"{value:,} {key}" for key, value in given.items()]
    told += [f"{batch['tokens']:,} padded tokens a batch"] if "tokens" in batch else []
    told += [f"{batch['accumulate']} batches a step"] if batch.get("accumulate", 1) > 1 else []
    return ", ".join(told)


def failures(rows: Sequence[Row]) -> list[str]:
    """Why runs failed, a line each."""
    return [reason for row in rows for reason in row.failures]


def provenance(study: Study, published: Published) -> list[str]:
    """Where published figures are from, and in what the arms differ from what was published."""
    deviations = [f"Ours, unlike what was published: {'; '.join(study.deviations)}."] if study.deviations else []
    return [*published.notes, *deviations]


def validation(rows: Sequence[Row], metric: str, title: str, form: str) -> Table | None:
    """A validation metric by step, the mean over an arm's seeds: a line an arm, a column a step, eight at most.

    None if no run has logged it.
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


def bleu_by_length(rows: Sequence[Row], test_set: str) -> Table | None:
    """BLEU of each range of source lengths (words), the mean over an arm's seeds; the last line counts sentences.

    None if no run has such figures, or there is one range alone.
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


def _figures(run: Run) -> dict[str, float]:
    """Every figure of a finished run's result, in its plain unit; NaN for what it has not measured."""
    result = run.result or {}
    model, train, validation = (result.get(part) or {} for part in ("model", "train", "validation"))
    sources = {"parameters": model, "parameters_non_embedding": model}
    keys = [*(column.key for column in COSTS), "steps", "seconds", "tokens_per_second", "mfu", "peak_memory_bytes"]
    figures = {key: sources.get(key, train).get(key) for key in keys}
    figures |= {f"validation_{key}": validation.get(key) for key in ("loss", "perplexity")}
    for test_set, scores in run.tests.items():
        figures |= {f"{test_set}/{key}": scores.get(key) for key, _, _ in SCORES}
    return {key: float("nan") if value is None else float(value) for key, value in figures.items()}


def _label(row: Row) -> str:
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


def _either(scores: Sequence[Mapping[str, object]], key: str) -> str:
    """What all of them have under a key, or each of what they have where a study varies it."""
    return " or ".join(dict.fromkeys(str(score.get(key, MISSING)) for score in scores))
