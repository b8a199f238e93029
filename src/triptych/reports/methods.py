"""The paragraph on methods that a reviewer asks for, made from what the runs have stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from triptych.reports.analysis import Analysis
from triptych.reports.arm_rows import ArmRow, runs_of
from triptych.reports.columns import time_unit
from triptych.reports.findings import how_interval_is_made
from triptych.reports.setup import all_signatures, in_short
from triptych.reports.stored_run import StoredRun
from triptych.reports.study import Study

TRIALS = "[Say how many trials led to these settings. triptych records the runs of this sweep alone.]"
"""What the author must add."""


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
        *in_short(runs),
        *_training(runs),
        _sizes(rows),
        TRIALS,
        *(f"{name}: {signature}." for name, signature in all_signatures(runs)),
        *how_interval_is_made(rows, analysis, study),
        _equality(rows),
        _versions(runs),
    ]
    return " ".join(filter(None, sentences))


def _arms(rows: Sequence[ArmRow]) -> str:
    """Return which arms were trained, and with which seeds."""
    finished = [row for row in rows if row.finished]
    seeds = sorted({run.seed for row in finished for run in row.finished if run.seed is not None})
    with_seeds = f"with {len(seeds)} seeds ({_listed(seeds)})" if len(seeds) > 1 else "with one seed"
    if len({len(row.finished) for row in finished}) > 1:
        with_seeds = "with " + "; ".join(f"{len(row.finished)} seeds of {row.label}" for row in finished)
    names = _listed(row.label for row in finished)
    return f"We trained {len(finished)} configuration{'s' if len(finished) > 1 else ''} ({names}) {with_seeds}."


def _data(runs: Sequence[StoredRun]) -> str:
    """Return the corpora, languages and vocabularies."""
    found = []
    for run in runs:
        data, tokenizer = ((run.result or {}).get(key) or {} for key in ("data", "tokenizer"))
        languages = " to ".join(data.get("languages") or [])
        pieces = f", {tokenizer.get('name')} ({tokenizer.get('vocab_size', 0):,} pieces)" if tokenizer else ""
        found.append(f"{data.get('name')}{f', {languages}' if languages else ''}{pieces}")
    return f"Data: {'; '.join(dict.fromkeys(found))}."


def _training(runs: Sequence[StoredRun]) -> list[str]:
    """Return the optimizer, its schedule, label smoothing and the checkpoint that was used, as far as stored."""
    described: tuple[tuple[str, Callable[[StoredRun], str]], ...] = (
        ("Optimizer", lambda run: _settings(run.config.get("optimizer"))),
        ("Loss", lambda run: _settings(run.config.get("loss"))),
        ("Checkpoint", _checkpoint),
        ("Precision", lambda run: str((run.config.get("strategy") or {}).get("precision") or "")),
    )
    found = [(name, _join_different(map(describe, runs))) for name, describe in described]
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
    """Return parameters, FLOPs and time of each arm, the mean over seeds."""
    found = []
    longest = max(_mean(row, "train", "seconds") for row in rows if row.finished)
    unit, scale = time_unit(longest)
    for row in rows:
        if row.finished:
            parameters, flops = _mean(row, "model", "parameters"), _mean(row, "train", "flops")
            time = _mean(row, "train", "seconds") / scale
            found.append(f"{row.label} {parameters / 1e6:.2f}M parameters, {flops:.2e} FLOPs, {time:.1f} {unit}")
    devices = _join_different(str(((run.result or {}).get("train") or {}).get("device")) for run in runs_of(rows))
    return (
        "Sizes and costs (FLOPs of all matrix products, forward and backward, by an analytic count; time on "
        f"{devices}): {'; '.join(found)}."
    )


def _equality(rows: Sequence[ArmRow]) -> str:
    """Return in which of parameters, tokens, FLOPs and time the arms are equal."""
    sizes = {
        "parameters": ("model", "parameters"),
        "source tokens": ("train", "tokens_src"),
        "target tokens": ("train", "tokens_tgt"),
        "FLOPs": ("train", "flops"),
        "training time": ("train", "seconds"),
    }
    finished = [row for row in rows if row.finished]
    if len(finished) < 2:
        return ""
    equal, unequal = [], []
    for name, keys in sizes.items():
        values = [_mean(row, *keys) for row in finished]
        low, high = min(values), max(values)
        if low == high:
            equal.append(name)
        else:
            unequal.append(f"{name} (factor {high / low:.2f} between the least and the most)" if low else name)
    parts = [f"Equal for all configurations: {_listed(equal)}." if equal else ""]
    parts.append(f"Not equal: {_listed(unequal)}." if unequal else "")
    return " ".join(filter(None, parts))


def _versions(runs: Sequence[StoredRun]) -> str:
    """Return the versions of triptych and of the libraries that shape results."""
    names = ("torch", "lightning", "sentencepiece", "sacrebleu")
    found = []
    for run in runs:
        versions = (run.result or {}).get("versions") or {}
        libraries = [f"{name} {versions[name]}" for name in names if name in versions]
        found.append(", ".join([f"triptych {(run.result or {}).get('version')}", *libraries]))
    return f"Software: {_join_different(found)}."


def _mean(row: ArmRow, part: str, key: str) -> float:
    """Return a figure of an arm, the mean over its seeds; 0 where none was stored."""
    values = [((run.result or {}).get(part) or {}).get(key) or 0.0 for run in row.finished]
    return sum(values) / len(values) if values else 0.0


def _join_different(texts: Iterable[str]) -> str:
    """Return the texts that differ from each other, joined by "or"."""
    return " or ".join(dict.fromkeys(filter(None, texts)))


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))
