"""The paragraph on methods that a reviewer asks for, made from what the runs have stored."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from triptych.reports.analysis import Analysis
from triptych.reports.arm_rows import ArmRow, runs_of
from triptych.reports.columns import Column, average_seeds, cost_columns, is_shared
from triptych.reports.details import unlike_hardware
from triptych.reports.findings import explain_interval, stand_in
from triptych.reports.labels import MOST_NAMED
from triptych.reports.setup import all_signatures, how_trained, how_translated
from triptych.reports.stored_run import StoredRun
from triptych.reports.study import Study

TRIALS = "[Say how many trials led to these settings. triptych records the runs of this sweep alone.]"
"""What the author must add."""
COMPARED = {
    "parameters": "parameters",
    "parameters_non_embedding": "non-embedding parameters",
    "tokens_src": "source tokens",
    "tokens_tgt": "target tokens",
    "flops": "FLOPs",
    "seconds": "training time",
}
"""Costs that are equal for all configurations or not, by their keys."""
NAMES = {"parameters": "M parameters", "flops": "FLOPs"}
"""What stands after a figure of costs, by its key; after a time its unit."""


def methods(rows: Sequence[ArmRow], analysis: Analysis, study: Study) -> str:
    """Return the paragraph: sizes, tokens, FLOPs, seeds, search, tests, what was equal and what was not.

    It is empty if no run has finished.
    """
    runs = [run for run in runs_of(rows) if run.result]
    if not runs:
        return ""
    sentences = [
        _arms(rows),
        _data(runs),
        *how_trained(rows, study),
        *_training(rows),
        *how_translated(runs),
        _sizes(rows),
        TRIALS,
        *(f"{name}: {signature}." for name, signature in all_signatures(runs)),
        *_statistics(rows, analysis, study),
        _equality(rows),
        _versions(runs),
    ]
    return " ".join(filter(None, sentences))


def _arms(rows: Sequence[ArmRow]) -> str:
    """Return which arms there are, of how many trainings, and with which seeds."""
    finished = [row for row in rows if row.finished]
    runs = runs_of(finished)
    seeds = {row.label: [run.seed for run in row.finished] for row in finished}
    first = next(iter(seeds.values()))
    if all(each == first for each in seeds.values()):
        how = f"with seed{'s' if len(first) > 1 else ''} {_listed(first)}" + (" each" if len(first) > 1 else "")
    else:
        how = "with these seeds: " + "; ".join(f"{label} {_listed(each)}" for label, each in seeds.items())
    trainings = len({run.training for run in runs})
    shared = f" from {trainings} training{'s' if trainings > 1 else ''}" if trainings < len(runs) else ""
    return f"We compare {len(finished)} configurations ({_listed(seeds)}){shared}, {how}."


def _data(runs: Sequence[StoredRun]) -> str:
    """Return the corpora, languages and vocabularies; empty if none is stored."""
    found = []
    for run in runs:
        data, tokenizer = ((run.result or {}).get(key) or {} for key in ("data", "tokenizer"))
        parts = [data.get("name"), " to ".join(data.get("languages") or [])]
        parts += [f"{tokenizer['name']} ({tokenizer['vocab_size']:,} pieces)"] if tokenizer.get("vocab_size") else []
        found.append(", ".join(filter(None, parts)))
    described = "; ".join(dict.fromkeys(filter(None, found)))
    return f"Data: {described}." if described else ""


def _training(rows: Sequence[ArmRow]) -> list[str]:
    """Return the optimizer, its schedule, label smoothing and the checkpoint that was used, as far as stored."""
    described: tuple[tuple[str, Callable[[StoredRun], str]], ...] = (
        ("Optimizer", lambda run: _settings(run.config.get("optimizer"))),
        ("Loss", lambda run: _settings(run.config.get("loss"))),
        ("Checkpoint", _checkpoint),
        ("Precision", lambda run: str((run.config.get("strategy") or {}).get("precision") or "")),
    )
    found = [
        (name, _by_arm({row.label: _join_different(map(describe, row.finished)) for row in rows if row.finished}))
        for name, describe in described
    ]
    return [f"{name}: {text}." for name, text in found if text]


def _checkpoint(run: StoredRun) -> str:
    """Return which checkpoint translates the test sets."""
    given = run.config.get("checkpoint") or {}
    average = given.get("average") or 1
    if average > 1:
        return f"the mean of the last {average}"
    return f"the best by validation {given['monitor']}" if given.get("monitor") else ""


def _settings(node: Any) -> str:
    """Return a part of a config in one line: the names of its classes, and its values."""
    if not isinstance(node, dict):
        return ""
    name = str(node.get("_target_", "")).rpartition(".")[2]
    parts = []
    for key, value in node.items():
        if key.startswith("_") or value is None:
            continue
        nested = _settings(value)
        parts.append(nested or f"{key.replace('_', ' ')} {_value(value)}")
    inside = ", ".join(parts)
    return f"{name} ({inside})" if name and inside else name or inside


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else json.dumps(value) if isinstance(value, list) else str(value)


def _sizes(rows: Sequence[ArmRow]) -> str:
    """Return parameters, FLOPs and time of each arm, the mean over seeds, as far as stored."""
    finished = [row for row in rows if row.finished]
    lines = average_seeds(finished).to_dict("records")
    columns = [column for column in cost_columns(runs_of(finished)) if column.key in ("parameters", "flops", "seconds")]
    found = {}
    for row, line in zip(finished, lines, strict=True):
        parts = [
            f"{text} {NAMES.get(column.key, column.header)}" for column in columns if (text := _mean(line, column))
        ]
        found[row.label] = ", ".join(parts)
    devices = _join_different(((run.result or {}).get("train") or {}).get("device") for run in runs_of(finished))
    place = f"; time on {devices}" if devices else ""
    sizes = _by_arm(found)
    how = f"FLOPs of all matrix products, forward and backward, by an analytic count{place}"
    return f"Sizes and costs ({how}): {sizes}." if sizes else ""


def _equality(rows: Sequence[ArmRow]) -> str:
    """Return in which of parameters, tokens, FLOPs and time the arms are equal, as far as stored."""
    finished = [row for row in rows if row.finished]
    if len(finished) < 2:
        return ""
    lines = average_seeds(finished).to_dict("records")
    equal, unequal = [], []
    for key, name in COMPARED.items():
        values = [line.get(key, math.nan) for line in lines]
        if any(math.isnan(value) or value <= 0 for value in values):
            continue
        if key == "seconds" and unlike_hardware(rows):
            continue
        if is_shared(lines, key):
            equal.append(f"{name} ({values[0]:,.0f})" if key.startswith("tokens") else name)
        else:
            unequal.append(f"{name} (the largest is {_ratio(max(values) / min(values))} the smallest)")
    parts = [f"Equal for all configurations: {_listed(equal)}." if equal else ""]
    parts.append(f"Not equal: {_listed(unequal)}." if unequal else "")
    return " ".join(filter(None, parts))


def _ratio(ratio: float) -> str:
    """Return how large a figure is beside another one."""
    return f"{100 * (ratio - 1):.2g}% above" if ratio < 1.1 else f"{ratio:.2f} times"


def _statistics(rows: Sequence[ArmRow], analysis: Analysis, study: Study) -> list[str]:
    """Return which measure decides, and how the intervals of its differences were made."""
    measure = analysis.primary
    base = analysis.base(measure) if measure else None
    if measure is None or base is None:
        return []
    lines = [
        *stand_in(rows, measure, study),
        f"Primary outcome: {measure.title} ({measure.unit}), compared with {base.label}.",
    ]
    found = explain_interval(rows, analysis, base)
    if not found:
        return [
            *lines,
            "No configuration has two seeds, so there are no intervals and no conclusions about architectures.",
        ]
    formula = (
        "Each interval is the difference ± t times the root of the variance over test sentences (paired, where known) "
        "plus the variance between seeds, with Satterthwaite's degrees of freedom and Bonferroni's correction."
    )
    return [*lines, *found, formula]


def _versions(runs: Sequence[StoredRun]) -> str:
    """Return the versions of triptych and of the libraries that shape results."""
    names = ("torch", "lightning", "sentencepiece", "sacrebleu")
    found = []
    for run in runs:
        stored = {"triptych": (run.result or {}).get("version")} | ((run.result or {}).get("versions") or {})
        found.append(", ".join(f"{name} {stored[name]}" for name in ("triptych", *names) if stored.get(name)))
    return f"Software: {_join_different(found)}."


def _mean(line: Mapping[str, float], column: Column) -> str:
    """Return the mean of a figure as a table prints it, empty if it was not stored."""
    mean = line.get(column.key)
    return "" if mean is None or math.isnan(mean) else format(mean / column.scale, column.format)


def _by_arm(texts: Mapping[str, str]) -> str:
    """Return what is said of each arm: once if it is the same of all, else each text with the arms that it is said of.

    Args:
        texts: by the labels of the arms; empty where nothing is known.
    """
    arms: dict[str, list[str]] = {}
    for label, text in texts.items():
        if text:
            arms.setdefault(text, []).append(label)
    if len(arms) == 1:
        return next(iter(arms))
    return "; ".join(f"{_named(labels)}: {text}" for text, labels in arms.items())


def _named(labels: Sequence[str]) -> str:
    """Return the labels of arms, or their number if they are many."""
    return _listed(labels) if len(labels) <= MOST_NAMED else f"{len(labels)} configurations"


def _join_different(texts: Iterable[str | None]) -> str:
    """Return the texts that differ from each other, joined by "or"."""
    return " or ".join(dict.fromkeys(filter(None, texts)))


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))
