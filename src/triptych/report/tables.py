"""The table of the runs: a tidy frame, seeds folded, and its text for a terminal, Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from rich import box
from rich.table import Table
from rich.text import Text

from triptych.report.results import Run, test_sets

MISSING = "–"


@dataclass(frozen=True)
class Column:
    """One column of the table: the key in the frame, the header and its test set, the unit, and how to print it."""

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

LABELS = ("run", "label", "seed", "finished", "group")
FOLDS = {"mean": "", "std": "_std", "count": "_count"}
TIMES = (("seconds", 1.0, 600.0), ("minutes", 60.0, 36_000.0), ("hours", 3600.0, float("inf")))
"""Units of time, and the seconds from which the next is used."""


def tidy(runs: Sequence[Run]) -> pd.DataFrame:
    """One row a run, every figure of its result a column in its plain unit; an unfinished run's figures are NaN."""
    frame = pd.DataFrame([_row(run) for run in runs])
    # A config run twice with one seed is a repetition, not a second seed: it gets a row of its own.
    repetition = frame.groupby(["recipe", "seed"], dropna=False).cumcount()
    frame["group"] = frame["recipe"] + "#" + repetition.astype(str)
    alone = ~frame["finished"] | frame["seed"].isna()
    frame.loc[alone, "group"] = frame.index[alone].astype(str)
    return frame.drop(columns="recipe")


def fold_seeds(frame: pd.DataFrame) -> pd.DataFrame:
    """One row a config: the mean of each figure over its seeds, beside it ``_std`` (ddof=1) and ``_count``.

    The labels become unique: configs that share one are told apart by the name of their first run.
    """
    figures = [name for name in frame.columns if name not in LABELS]
    grouped = frame.groupby("group", sort=False)
    folded = grouped.agg(label=("label", "first"), finished=("finished", "first"), run=("run", "first"))
    folded["members"] = pd.Series({group: list(rows.index) for group, rows in grouped})
    folded["seeds"] = grouped.size()
    spread = {f"{name}{suffix}": grouped[name].agg(how) for name in figures for how, suffix in FOLDS.items()}
    folded = pd.concat([folded, pd.DataFrame(spread)], axis=1).reset_index(drop=True)
    folded.loc[~folded["finished"], "label"] += " (unfinished)"
    shared = folded["label"].duplicated(keep=False)
    folded.loc[shared, "label"] += " (" + folded["run"] + ")"
    again = folded.groupby("label").cumcount()
    folded.loc[again > 0, "label"] += " #" + (again + 1).astype(str)
    return folded.drop(columns="run")


def columns(runs: Sequence[Run]) -> list[Column]:
    """The columns of the table, time in the unit that suits the longest run, then three for every test set."""
    longest = max(((run.result or {}).get("train", {}).get("seconds") or 0.0 for run in runs), default=0.0)
    unit, scale = next((unit, scale) for unit, scale, most in TIMES if longest < most)
    found = [*COSTS, Column("seconds", unit, ".1f", scale), SPEED, PERPLEXITY]
    for test_set in test_sets(runs):
        found += [Column(f"{test_set}/{key}", header, style, test_set=test_set) for key, header, style in SCORES]
    return found


def render_cells(folded: pd.DataFrame, shown: Sequence[Column]) -> pd.DataFrame:
    """The table as text: columns (test set, header), the first ``model``; several seeds are ``mean ± std``."""
    rows = []
    for _, row in folded.iterrows():
        seeds = f" ({row['seeds']} seeds)" if row["seeds"] > 1 else ""
        rows.append([row["label"] + seeds, *(_cell(row, column) for column in shown)])
    header = [("", "model"), *((column.test_set, column.header) for column in shown)]
    return pd.DataFrame(rows, columns=pd.MultiIndex.from_tuples(header))


def signatures(runs: Sequence[Run]) -> list[str]:
    """How the scores came about: what the runs of a seed trained on, and a line for each test set and metric."""
    streams: dict[int | None, set[str]] = defaultdict(set)
    for run in runs:
        if run.result:
            streams[run.seed].add(str(run.result["data"].get("token_stream")))
    lines = []
    if sum(run.result is not None for run in runs) > len(streams):
        same = all(len(found) == 1 for found in streams.values())
        lines.append(
            "Every run of a seed was trained on the same tokens in the same order."
            if same
            else "The runs were NOT all trained on the same tokens in the same order (see result.json)."
        )
    for test_set in test_sets(runs):
        scores = next(run.tests[test_set] for run in runs if test_set in run.tests)
        lines += [
            f"{test_set}: BLEU {scores.get('bleu_signature', MISSING)}",
            f"{test_set}: chrF {scores.get('chrf_signature', MISSING)}",
            f"{test_set}: {scores.get('sentences', MISSING)} sentences, beam {scores.get('beam_size', MISSING)}, "
            f"length penalty {scores.get('length_penalty', MISSING)}",
        ]
    return lines


def validation(arms: Mapping[str, Sequence[Run]], metric: str, form: str) -> pd.DataFrame | None:
    """A validation metric by step, the mean over an arm's seeds: a row an arm, a column a step, eight at most.

    None if no run has logged it.
    """
    curves = {
        label: pd.concat([run.curve(metric) for run in runs]).groupby("step")["value"].mean()
        for label, runs in arms.items()
    }
    frame = pd.DataFrame({label: curve for label, curve in curves.items() if len(curve)}).T
    if frame.empty:
        return None
    every = -(-len(frame.columns) // 8)
    frame = frame[frame.columns[::-1][::every][::-1]]
    rows = [
        [label, *(MISSING if pd.isna(value) else format(value, form) for value in row)]
        for label, row in zip(frame.index, frame.to_numpy(), strict=True)
    ]
    header = [("", "model"), *(("", f"step {int(step):,}") for step in frame.columns)]
    return pd.DataFrame(rows, columns=pd.MultiIndex.from_tuples(header))


def to_rich(cells: pd.DataFrame, title: str, notes: Sequence[str]) -> Table:
    """The table for a terminal; as ``Text``, so that no bracket in a label is taken for markup."""
    table = Table(title=title, caption=Text("\n".join(notes)), caption_justify="left", box=box.SIMPLE_HEAVY)
    for i, (test_set, header) in enumerate(cells.columns):
        text = "\n".join([test_set, *header.split()]).strip()
        table.add_column(Text(text), justify="right" if i else "left", vertical="middle")
    for row in cells.itertuples(index=False):
        table.add_row(*map(Text, row))
    return table


def transpose(cells: pd.DataFrame) -> pd.DataFrame:
    """A column a model, for a terminal that is too narrow for a row a model."""
    rows = [[f"{test_set} {header}".strip(), *cells[test_set, header]] for test_set, header in cells.columns[1:]]
    header = [("", ""), *(("", label) for label in cells.iloc[:, 0])]
    return pd.DataFrame(rows, columns=pd.MultiIndex.from_tuples(header))


def to_markdown(tables: Sequence[tuple[str, pd.DataFrame, Sequence[str]]]) -> str:
    """Each title, its table, and its notes as a list."""
    parts = []
    for title, cells, notes in tables:
        headers = [f"{test_set} {header}".strip() for test_set, header in cells.columns]
        align = ["---", *["---:"] * (len(headers) - 1)]
        lines = [headers, align, *cells.itertuples(index=False)]
        table = "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)
        parts.append(f"## {title}\n\n{table}\n" + "".join(f"- {note}\n" for note in notes))
    return "\n".join(parts)


def to_latex(tables: Sequence[tuple[str, pd.DataFrame, Sequence[str]]]) -> str:
    """A document of the class ``standalone``: each title, its table in booktabs' rules, its notes below."""
    bodies = []
    for title, cells, notes in tables:
        flat = cells if any(cells.columns.get_level_values(0)) else cells.droplevel(0, axis=1)
        style = flat.map(_latex).style.hide(axis="index").format_index(_latex, axis=1)
        body = style.to_latex(hrules=True, multicol_align="c", column_format="l" + "r" * (cells.shape[1] - 1))
        lines = [f"\\par\\smallskip{{\\footnotesize {_latex(note)}\\par}}\n" for note in notes]
        bodies.append(f"\\textbf{{{_latex(title)}}}\\par\\smallskip\n{body}{''.join(lines)}")
    return (
        "\\documentclass[varwidth=\\maxdimen, border=6pt]{standalone}\n"
        "\\usepackage[T1]{fontenc}\n\\usepackage{booktabs}\n\\begin{document}\n"
        + "\\par\\bigskip\n".join(bodies)
        + "\\end{document}\n"
    )


def to_csv(folded: pd.DataFrame) -> str:
    """Every figure in its plain unit at full precision, its std and its count beside it, for other programs."""
    return folded.drop(columns="members").to_csv(index=False)


LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"},
    **{
        "±": "$\\pm$",
        "–": "--",
        "−": "$-$",
        "Δ": "$\\Delta$",
        "|": "\\textbar{}",
        "<": "\\textless{}",
        ">": "\\textgreater{}",
    },
}


def _latex(text: str) -> str:
    return "".join(LATEX.get(sign, sign) for sign in text)


def _row(run: Run) -> dict[str, object]:
    result = run.result or {}
    model, train, validation = (result.get(part) or {} for part in ("model", "train", "validation"))
    sources = {"parameters": model, "parameters_non_embedding": model}
    keys = [*(column.key for column in COSTS), "steps", "seconds", "tokens_per_second", "mfu", "peak_memory_bytes"]
    figures = {key: sources.get(key, train).get(key) for key in keys}
    figures |= {f"validation_{key}": validation.get(key) for key in ("loss", "perplexity")}
    for test_set, scores in run.tests.items():
        figures |= {f"{test_set}/{key}": scores.get(key) for key, _, _ in SCORES}
    return {
        "run": run.name,
        "label": run.label,
        "seed": run.seed,
        "finished": run.result is not None,
        "recipe": run.recipe,
        **{key: float("nan") if value is None else float(value) for key, value in figures.items()},
    }


def _cell(row: pd.Series, column: Column) -> str:
    mean = row[column.key]
    if pd.isna(mean):
        return MISSING
    text = format(mean / column.scale, column.format)
    count = row[f"{column.key}_count"]
    if column.measured and count > 1:
        text += f" ± {format(row[f'{column.key}_std'] / column.scale, column.format)}"
    return text if count == row["seeds"] else f"{text} ({count} of {row['seeds']})"
