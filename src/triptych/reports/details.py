"""The tables below the first: costs, further measures, runs, validation metrics by step, BLEU by source length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from triptych.reports.arm_rows import ArmRow, runs_of
from triptych.reports.columns import (
    VALIDATION,
    Column,
    average_seeds,
    cost_columns,
    is_shared,
    print_cell,
    score_columns,
)
from triptych.reports.comparability import short_stream
from triptych.reports.stored_run import StoredRun
from triptych.reports.table import MISSING, Table, make_cells


def costs(rows: Sequence[ArmRow]) -> Table:
    """Return what each arm cost: parameters, tokens, FLOPs, time and speed."""
    table = _tabulate("Costs", rows, cost_columns(runs_of(rows)))
    return replace(table, notes=[*table.notes, *unlike_hardware(rows)])


def unlike_hardware(rows: Sequence[ArmRow]) -> list[str]:
    """Return a sentence that names the arms by their threads or device, if times are not comparable for that."""
    arms: dict[str, list[str]] = {}
    for row in rows:
        for run in row.finished:
            device = ((run.result or {}).get("train") or {}).get("device")
            if device and row.label not in arms.setdefault(device, []):
                arms[device].append(row.label)
    if len(arms) < 2:
        return []
    named = "; ".join(f"{device}: {', '.join(labels)}" for device, labels in arms.items())
    return [f"Times and tokens/s cannot be compared, since arms had different threads or devices. {named}."]


def measures(rows: Sequence[ArmRow], test_set: str) -> Table:
    """Return every measure of a test set."""
    return _tabulate(f"Measures, {test_set}", rows, score_columns(runs_of(rows), test_set))


def validation_measures(rows: Sequence[ArmRow]) -> Table:
    """Return what the validation set says of the weights that are reported."""
    return _tabulate("Measures, validation", rows, VALIDATION)


def _tabulate(title: str, rows: Sequence[ArmRow], columns: Sequence[Column]) -> Table:
    """Return a table of figures. A figure that chance does not change stands in a sentence if all arms share it."""
    lines = average_seeds(rows).to_dict("records")
    finished = [line for line, row in zip(lines, rows, strict=True) if row.finished]
    measured = [column for column in columns if any(print_cell(line, column) != MISSING for line in finished)]
    equal = [column for column in measured if not column.varies_by_seed and is_shared(finished, column.key)]
    shown = [column for column in measured if column not in equal]
    cells = [
        [row.label, *(print_cell(line, column) for column in shown)] for row, line in zip(rows, lines, strict=True)
    ]
    values = "; ".join(f"{column.header} {print_cell(finished[0], column)}" for column in equal)
    notes = [f"Equal for all arms: {values}."] if equal else []
    return Table(title, make_cells(["arm", *(column.header for column in shown)], cells), notes, rows=rows)


def list_runs(rows: Sequence[ArmRow]) -> Table:
    """Return the runs of each arm, a line each, with links and what their figures come from."""
    runs = [(row, run) for row in rows for run in row.runs]
    sources = [_sources(run) for _, run in runs]
    names = list(sources[0]) if sources else []
    cells = [[row.label, run.name, *source.values()] for (row, run), source in zip(runs, sources, strict=True)]
    links = {(i, 1): run for i, (_, run) in enumerate(runs)}
    prose = frozenset({0, 1, *(2 + names.index(name) for name in ("device", "MFU") if name in names)})
    table = make_cells(["arm", "run", *names], cells)
    return Table("Runs", table, rows=[row for row, _ in runs], prose=prose, links=links)


def _sources(run: StoredRun) -> dict[str, str]:
    """Return where a run's figures come from. MFU is given with its peak, since it means nothing without."""
    result = run.result or {}
    train, data, tokenizer = (result.get(part) or {} for part in ("train", "data", "tokenizer"))
    memory, mfu, peak = (train.get(key) for key in ("peak_memory_bytes", "mfu", "peak_flops"))
    values = {
        "seed": run.seed,
        "steps": train.get("steps"),
        "device": train.get("device"),
        "peak memory (GB)": memory and f"{memory / 1e9:.2f}",
        "MFU": mfu and peak and f"{100 * mfu:.1f}% of {peak / 1e12:,.3g} TFLOP/s ({train.get('peak_source')})",
        "batches seen": short_stream(run) if data.get("token_stream") else None,
        "data": data.get("fingerprint"),
        "tokenizer": tokenizer.get("fingerprint"),
        "config": result.get("config_hash"),
        "triptych": result.get("version"),
    }
    return {name: MISSING if value is None else str(value) for name, value in values.items()}


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
    header = ["arm", *(f"step {int(step):,}" for step in frame.columns)]
    return Table(title, make_cells(header, cells), rows=[row for row in rows if row.label in frame.index])


def bleu_by_length(rows: Sequence[ArmRow], test_set: str) -> Table | None:
    """Return the BLEU of each range of source lengths (in words), the mean over an arm's seeds.

    The last line has the number of sentences. None if no run has such figures, or there is only one range.
    """
    return _by_range(rows, test_set, "by_length", "bleu", "sentences", f"BLEU by source length, {test_set}", "words")


def recall_by_frequency(rows: Sequence[ArmRow], test_set: str) -> Table | None:
    """Return the recall of reference words in each range of frequencies in training, the mean over an arm's seeds.

    In percent. The last line has the number of words. None if no run has such figures.
    """
    title = f"Recall of reference words by frequency in training (%), {test_set}"
    return _by_range(rows, test_set, "by_frequency", "recall", "words", title, "times in training", scale=0.01)


def _by_range(
    rows: Sequence[ArmRow],
    test_set: str,
    key: str,
    value: str,
    count: str,
    title: str,
    corner: str,
    scale: float = 1.0,
) -> Table | None:
    """Return a table of a figure that a test set has for each of several ranges.

    Args:
        rows: the arms.
        test_set: the test set.
        key: of the ranges in its scores.
        value: key of the figure of a range, in units of ``scale``.
        count: key of the number of sentences or words that the figure is taken over.
        title: the table's heading.
        corner: the heading of its first column.
    """
    found = {
        row.label: pd.DataFrame(parts).dropna(subset=value)
        for row in rows
        if (parts := [part for run in row.finished for part in run.tests.get(test_set, {}).get(key) or []])
    }
    if not found:
        return None
    ranges = pd.concat(found.values()).drop_duplicates("label").sort_values("low")
    if len(ranges) < 2:
        return None
    cells = []
    for label, frame in found.items():
        means = frame.groupby("label")[value].mean().reindex(ranges["label"]) / scale
        cells.append([label, *(MISSING if pd.isna(mean) else f"{mean:.2f}" for mean in means)])
    cells.append([count, *(f"{total:,}" for total in ranges[count])])
    header = make_cells([corner, *ranges["label"]], cells)
    return Table(title, header, rows=[row for row in rows if row.label in found])
