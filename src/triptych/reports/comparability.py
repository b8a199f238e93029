"""Refuse what may not share a table: scores made in different ways, or scores that contradict the translations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from triptych.data.batching import STREAM_PREFIX
from triptych.decoding.choices import TUNED
from triptych.errors import UserError
from triptych.evaluation.mean_nats import mean_nats
from triptych.reports.arm_rows import ArmRow
from triptych.reports.rescoring import rescore
from triptych.reports.stored_run import StoredRun, TranslatedText, metric_names, suite_names, test_sets

SAME_TEXT = ("text", "sentences")
"""Entries of a test's result that runs must share before their scores stand in one table, beside the signatures."""
SEARCH = ("beam_size", "length_penalty", "max_length_ratio", "max_length_extra", "min_length", "stop")
"""Entries that they must share too, unless a study varies the search."""
BEFORE = {"stop": "exact", "min_length": 0}
"""What an entry is in results that do not store it."""
ENDED_EARLY = ("diverged", "stopped_early")
"""Entries of a result that say that the training ended before its budget did."""
AMOUNTS = ("steps", "tokens_src", "tokens_tgt")
"""Entries of a result that say how much a run was trained on."""
SAME_SETTINGS = "data, tokenizer, batch and budget"
"""Keys that determine the tokens of a training and their order, for messages."""
TOLERANCE = 1e-6
"""Points that a score may change by when it is computed again from the same text: rounding alone."""


def refuse_mixtures(runs: Sequence[StoredRun], varies: Collection[str]) -> None:
    """Refuse scores of one test set that were made in different ways, except for what a study varies on purpose.

    Raises:
        UserError: runs scored one test set with different signatures, on different text, or decoded it differently; or
            they scored one contrastive suite on different items.
    """
    settings = SAME_TEXT if "search" in varies else (*SAME_TEXT, *SEARCH)
    for test_set in test_sets(runs):
        signatures = [f"{name}_signature" for name in metric_names(runs, test_set)]
        for key in (*signatures, *settings):
            found: dict[str, list[StoredRun]] = defaultdict(list)
            for run in runs:
                if test_set in run.tests and (key in run.tests[test_set] or key not in signatures):
                    found[str(_setting(run.tests[test_set], key))].append(run)
            _refuse_several(f"test.{test_set}.{key}", found, "data and search")
    for suite in suite_names(runs):
        found = defaultdict(list)
        for run in runs:
            if suite in run.suites:
                found[run.suites[suite]["text"]].append(run)
        _refuse_several(f"suites.{suite}.text", found, "data and suite_items")


def _refuse_several(name: str, found: Mapping[str, Sequence[StoredRun]], shared: str) -> None:
    """Refuse several values of one setting.

    Args:
        name: of the setting in ``result.json``.
        found: the runs that have each value.
        shared: what runs must share.
    """
    if len(found) < 2:
        return
    scales = dict.fromkeys(_scale(run) for runs in found.values() for run in runs)
    if len(scales) > 1:
        raise UserError(
            f"the runs are of several scales ({' and '.join(scales)}), whose scores do not compare ({name} differs); "
            "give each scale an output=… of its own, and report that."
        )
    sides = "; ".join(
        f"{value} in {runs[0].origin}" + (f" and {len(runs) - 1:,} more" if len(runs) > 1 else "")
        for value, runs in found.items()
    )
    raise UserError(
        f"{name} differs between runs ({sides}): train them with the same {shared}, or report them from separate "
        "folders."
    )


def _scale(run: StoredRun) -> str:
    """Return the override that chose a run's scale."""
    return next((one for one in run.overrides if one.startswith("scale=")), "the default scale")


def _setting(scores: Mapping[str, Any], key: str) -> Any:
    """Return how a test set was scored; the length penalty of runs that each tuned their own is ``tuned``."""
    if key == "length_penalty" and "length_penalty_tuned" in scores:
        return TUNED
    value = scores.get(key, BEFORE.get(key))
    return int(value) if isinstance(value, float) and value.is_integer() else value  # 1 and 1.0 are alike


def refuse_unequal_tokens(rows: Sequence[ArmRow]) -> None:
    """Refuse finished runs of one seed that were not trained on the same tokens in the same order.

    Under a budget of FLOPs, the stream of one run may be the beginning of the other's, as may that of a run that
    ended early. Runs of different seeds must have the same text, tokenizer, batches and budget.

    Raises:
        UserError: two arms were trained on different tokens.
    """
    by_seed: dict[int | None, list[tuple[str, StoredRun]]] = defaultdict(list)
    for row in rows:
        for run in row.finished:
            for label, other in by_seed[run.seed]:
                if not share_stream(run, other):
                    raise UserError(
                        f"{label} and {row.label} were not trained on the same tokens in the same order (seed "
                        f"{run.seed}): train them with the same {SAME_SETTINGS}, keep other budgets in an output=… of "
                        "their own, or add --unequal."
                    )
            by_seed[run.seed].append((row.label, run))
    for (first, one), (label, other) in pairwise(of_seed[0] for of_seed in by_seed.values()):
        if _stream_settings(one) != _stream_settings(other):
            raise UserError(
                f"{first} (seed {one.seed}) and {label} (seed {other.seed}) were not trained on as many tokens of the "
                f"same text: train them with the same {SAME_SETTINGS}, or add --unequal."
            )


def share_stream(run: StoredRun, other: StoredRun) -> bool:
    """Return whether two runs saw the same batches in the same order, or began so under budgets of FLOPs.

    A run that ended early, because it diverged or a callback stopped it, need only have begun so. Two runs that both
    share the stream of a third one need not share each other's.
    """
    if same_stream(run, other):
        return True
    ended_early = any((one.result or {}).get(reason) for one in (run, other) for reason in ENDED_EARLY)
    return (ended_early or all(map(has_budget_of_flops, (run, other)))) and _streams_begin_alike(run, other)


def same_stream(run: StoredRun, other: StoredRun) -> bool:
    """Return whether two runs saw the same batches in the same order, to the end.

    The hashes of version 0.2 are of another kind. A run that has one is compared with a later run by the settings that
    determine the batches, and by how many steps and tokens there were.
    """
    if _comparable_hashes(run, other):
        return stream_of(run) == stream_of(other)
    amounts = [[((one.result or {}).get("train") or {}).get(key) for key in AMOUNTS] for one in (run, other)]
    return _batches_alike(run, other) and amounts[0] == amounts[1]


def has_budget_of_flops(run: StoredRun) -> bool:
    """Return whether a run's budget is given in FLOPs."""
    return (run.config.get("budget") or {}).get("flops") is not None


def stream_of(run: StoredRun) -> str:
    """Return the hash of the batches that a finished run saw, in order."""
    return str((run.result or {})["data"].get("token_stream"))


def batches_per_step(run: StoredRun) -> int:
    """Return how many batches of all its devices together made an optimizer step of a run."""
    batch, strategy = (run.config.get(key) or {} for key in ("batch", "strategy"))
    on_each = batch.get("accumulate", 1) * strategy.get("devices", 1) * strategy.get("num_nodes", 1)
    return batch.get("per_step") or on_each


def short_stream(run: StoredRun) -> str:
    """Return the beginning of the hash, for tables."""
    return stream_of(run).removeprefix(STREAM_PREFIX)[:16]


def refuse_tampered(runs: Sequence[StoredRun]) -> None:
    """Refuse results that contradict the config or the translations of their run.

    A run's seed must be its config's, its sources and references those that it was scored on, its scores those of its
    translations, and all its figures those that were written. Neither test sets without translations nor TER and
    metrics from outside triptych are computed again.

    Raises:
        UserError: a run contradicts itself.
    """
    for run in runs:
        if run.result and run.seed != run.config.get("seed", run.seed):
            raise UserError(
                f"{run.origin} has been tampered with: its result has seed {run.seed}, and its config "
                f"{run.config['seed']}; {run.remedy}."
            )
        for test_set in run.tests:
            text = run.text(test_set)
            if text and (mistake := _contradiction(run, test_set, text)):
                raise UserError(f"{run.origin} has been tampered with: {mistake}; {run.remedy}.")
        if change := run.change:
            raise UserError(f"{run.origin} has changed since it was written: {change}; {run.remedy}.")


def _stream_settings(run: StoredRun) -> list[Any]:
    """Return everything that determines a run's stream of batches except its seed."""
    times = (run.config.get("match") or {}).get("budget_times")
    return [*_batch_settings(run), run.config.get("budget"), times]


def _batch_settings(run: StoredRun) -> list[Any]:
    """Return everything that determines a run's batches, however many there are, except its seed."""
    result = run.result or {}
    fingerprints = [(result.get(key) or {}).get("fingerprint") for key in ("data", "tokenizer")]
    data = run.config.get("data") or {}
    left_out = [data.get(key) for key in ("max_length", "max_length_ratio")]  # pairs of the text that no batch has
    return [*fingerprints, *left_out, (run.config.get("batch") or {}).get("tokens"), batches_per_step(run)]


def _batches_alike(one: StoredRun, other: StoredRun) -> bool:
    return one.seed == other.seed and _batch_settings(one) == _batch_settings(other)


def _comparable_hashes(one: StoredRun, other: StoredRun) -> bool:
    """Return whether the hashes of two streams are of one kind."""
    return stream_of(one).startswith(STREAM_PREFIX) == stream_of(other).startswith(STREAM_PREFIX)


def _streams_begin_alike(one: StoredRun, other: StoredRun) -> bool:
    """Return whether two streams agree after the largest stored number of steps (1, 2, 4, 8 …) that both runs took."""
    if not _comparable_hashes(one, other):
        return _batches_alike(one, other)
    ours, theirs = ((run.result or {})["data"].get("token_stream_after") or {} for run in (one, other))
    shared = max((int(step) for step in {*ours} & {*theirs}), default=None)
    return shared is not None and ours[str(shared)] == theirs[str(shared)]


def _contradiction(run: StoredRun, test_set: str, text: TranslatedText) -> str | None:
    """Return how a run's translations contradict its result, None if they agree."""
    if len(text.translations) != len(text.references):
        counts = f"{len(text.translations):,} lines for {len(text.references):,} references"
        return f"{run.text_file(test_set)} has {counts}"
    scores = run.tests[test_set]
    if text.fingerprint and text.fingerprint != scores.get("text", text.fingerprint):
        return f"test.{test_set}.text is {scores['text']}, and its sources and references are {text.fingerprint}"
    for name in metric_names([run], test_set):
        stored, signature = scores[name], scores[f"{name}_signature"]
        try:
            found = rescore(run, name, signature, text)
        except ValueError as error:
            return f"test.{test_set}.{name}_signature is none ({error})"
        if found is None:
            continue
        if signature != found.signature:
            return (
                f"test.{test_set}.{name}_signature is {signature}, and sacreBLEU's for these settings is "
                f"{found.signature}"
            )
        if not abs(found.score - stored) <= TOLERANCE:
            return f"test.{test_set}.{name} is {stored:.6g}, and its translations score {found.score:.6g}"
        if (details := scores.get(f"{name}_details")) and not _agree(details, found.details):
            return f"test.{test_set}.{name}_details are {details}, and those of its translations {dict(found.details)}"
    return _contradicting_nats(run, test_set, text)


def _agree(stored: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Return whether two mappings have the same numbers, or lists of numbers, up to rounding."""
    return stored.keys() == found.keys() and all(
        np.shape(stored[key]) == np.shape(value) and np.allclose(stored[key], value, rtol=0, atol=TOLERANCE)
        for key, value in found.items()
    )


def _contradicting_nats(run: StoredRun, test_set: str, text: TranslatedText) -> str | None:
    """Return how the log-likelihoods of a run's references contradict their stored mean, None if they agree."""
    nats = text.scores.get("nats")
    if nats is None:
        return None
    if len(nats) != len(text.references):
        return f"{test_set} has {len(nats):,} log-likelihoods for {len(text.references):,} references"
    for key, mean in mean_nats(nats, text.references).items():
        stored = run.tests[test_set].get(key)
        if stored is None or mean is None or not abs(mean - stored) <= TOLERANCE:  # no number compares with NaN
            return f"test.{test_set}.{key} is {stored}, and the log-likelihoods of its sentences give {mean:.6g}"
    return None
