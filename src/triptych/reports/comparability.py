"""What may not stand in one table: scores that were not made alike, or are not what a run has translated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

from sacrebleu.metrics.chrf import CHRF

from triptych.errors import UserError
from triptych.evaluation.bleu_statistics import bleu_from_signature
from triptych.reports.rows import Row
from triptych.reports.stored_runs import Run, test_sets

ALIKE = ("bleu_signature", "chrf_signature", "text", "sentences")
"""What runs must share before their scores on one test set stand in one table."""
SEARCH = ("beam_size", "length_penalty", "max_length_ratio", "max_length_extra")
"""Likewise, unless a study varies it."""
EXACT = 1e-6
"""BLEU points: a score that is computed again from the same text may differ in rounding alone."""


def refuse_mixtures(runs: Sequence[Run], varies: Collection[str]) -> None:
    """Scores of one test set are comparable only if they were made alike, but for what a study varies.

    Raises:
        UserError: runs scored one test set with different signatures, of other text, or decoded it otherwise.
    """
    settled = ALIKE if "search" in varies else (*ALIKE, *SEARCH)
    for test_set in test_sets(runs):
        for key in settled:
            found: dict[str, list[str]] = defaultdict(list)
            for run in runs:
                if test_set in run.tests:
                    found[str(run.tests[test_set].get(key))].append(str(run.folder))
            if len(found) > 1:
                sides = "; ".join(
                    f"{value} in {folders[0]}" + (f" and {len(folders) - 1:,} more" if len(folders) > 1 else "")
                    for value, folders in found.items()
                )
                raise UserError(
                    f"test.{test_set}.{key} differs between runs ({sides}): "
                    "train them with the same data and search, or report them from separate folders."
                )


def refuse_unequal_tokens(rows: Sequence[Row]) -> None:
    """Finished runs of one seed are comparable only if they were trained on the same tokens in the same order.

    Under a budget of FLOPs, one stream may be the beginning of the other. Runs of different seeds must have had the
    same text, pieces, batches and budget.

    Raises:
        UserError: two arms were not.
    """
    seen: dict[int | None, tuple[str, Run]] = {}
    for row in rows:
        for run in row.finished:
            first, other = seen.setdefault(run.seed, (row.label, run))
            if not on_one_stream(run, other):
                raise UserError(
                    f"{first} and {row.label} were not trained on the same tokens in the same order (seed {run.seed}: "
                    f"token stream {stream_of(other)[:16]}, and {stream_of(run)[:16]}): train them with the same data, "
                    "tokenizer, batch and budget, or add --unequal."
                )
    for (first, one), (label, other) in pairwise(seen.values()):
        if _stream_settings(one) != _stream_settings(other):
            raise UserError(
                f"{first} (seed {one.seed}) and {label} (seed {other.seed}) were not trained on as many tokens of the "
                "same text: train them with the same data, tokenizer, batch and budget, or add --unequal."
            )


def _stream_settings(run: Run) -> list[Any]:
    """What a run's stream of batches follows from, but for its seed."""
    result = run.result or {}
    fingerprints = [(result.get(key) or {}).get("fingerprint") for key in ("data", "tokenizer")]
    return [*fingerprints, run.config.get("batch"), run.config.get("budget")]


def on_one_stream(run: Run, other: Run) -> bool:
    """Whether two were trained on the same batches in the same order, or, of two budgets of FLOPs, began so."""
    return stream_of(run) == stream_of(other) or (_of_flops(run, other) and _began_alike(run, other))


def _of_flops(*runs: Run) -> bool:
    return all((run.config.get("budget") or {}).get("flops") is not None for run in runs)


def _began_alike(one: Run, other: Run) -> bool:
    """Whether the streams agree after the most steps, of 1, 2, 4, 8 …, that both have taken."""
    ours, theirs = ((run.result or {})["data"].get("token_stream_after") or {} for run in (one, other))
    shared = max((int(step) for step in {*ours} & {*theirs}), default=None)
    return shared is not None and ours[str(shared)] == theirs[str(shared)]


def stream_of(run: Run) -> str:
    """The hash of the batches that a finished run saw, in order."""
    return str((run.result or {})["data"].get("token_stream"))


def refuse_tampered(runs: Sequence[Run]) -> None:
    """A run's seed is its config's, and its BLEU and chrF are those of its translations, by the metrics of their
    signatures; what has no translations is not held to them.

    Raises:
        UserError: translations and ``result.json`` do not say the same.
    """
    for run in runs:
        if run.result and run.seed != run.config.get("seed", run.seed):
            raise UserError(
                f"{run.folder} has been tampered with: result.json has seed {run.seed}, and config.yaml "
                f"{run.config['seed']}; train it again in another output=…, or report the others without it."
            )
        for test_set in run.tests:
            text = run.translations(test_set)
            if text and (mistake := _mistake(run, test_set, *text)):
                raise UserError(
                    f"{run.folder} has been tampered with: {mistake}; train it again in another output=…, or report "
                    "the others without it."
                )


def _mistake(run: Run, test_set: str, hypotheses: list[str], references: list[str]) -> str | None:
    """How a run's translations contradict its result, if they do."""
    if len(hypotheses) != len(references):
        return f"translations/{test_set}.txt has {len(hypotheses):,} lines for {len(references):,} references"
    scores = run.tests[test_set]
    try:
        metrics = {"bleu": bleu_from_signature(scores["bleu_signature"]), "chrf": CHRF()}
    except ValueError as error:
        return f"test.{test_set}.bleu_signature is none ({error})"
    for name, metric in metrics.items():
        told, signature = scores[name], scores[f"{name}_signature"]
        score, here = metric.corpus_score(hypotheses, [references]).score, metric.get_signature()
        # A release is no setting: the one that a run was scored by is in its versions.
        here.update("version", (run.result or {}).get("versions", {}).get("sacrebleu", here.info["version"]))
        if signature != here.format():
            mine = f"sacreBLEU's for these settings is {here.format()}"
            return f"test.{test_set}.{name}_signature is {signature}, and {mine}"
        if abs(score - told) > EXACT:
            return f"test.{test_set}.{name} is {told:.6g}, and its translations score {score:.6g}"
    return None
