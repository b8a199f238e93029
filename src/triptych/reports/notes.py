"""The sentences below the comparison: how its figures were made, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triptych.decoding.choices import EXACT
from triptych.reports.arm_rows import ArmRow
from triptych.reports.comparability import share_stream, stream_of
from triptych.reports.stored_run import StoredRun, metric_names, test_sets
from triptych.reports.study import Published, Study
from triptych.reports.tables import MISSING, score_header


def failures(rows: Sequence[ArmRow]) -> list[str]:
    """Return why runs failed, a sentence each."""
    return [reason for row in rows for reason in row.failures]


def conditions(runs: Sequence[StoredRun]) -> list[str]:
    """Return how the figures were made: the budget, the tokens, the code, and the scoring of each test set."""
    finished = [run for run in runs if run.result]
    budgets = " or ".join(dict.fromkeys(filter(None, map(_budget, runs))))
    lines = [f"Budget: {budgets}."] if budgets else []
    lines += _equal_tokens(finished)
    adopted = sum("weights_of" in (run.result or {}) for run in finished)
    if adopted:
        lines.append(
            f"{adopted} of {len(finished)} runs have the weights of another (weights_of in result.json), trained once: "
            "the costs and the curve of that training stand in each of their rows."
        )
    versions = [(run.result or {}).get("versions", {}) for run in finished]
    sources = {found.get(key) for found in versions for key in ("source", "started_by")} - {None}
    if len(sources) > 1:
        lines.append(f"The runs are of {len(sources)} versions of the code (versions in result.json).")
    for test_set in test_sets(runs):
        scores = [run.tests[test_set] for run in runs if test_set in run.tests]
        for name in metric_names(runs, test_set):
            key = f"{name}_signature"
            lines.append(f"{test_set}: {score_header(name)} {_values([one for one in scores if key in one], key)}")
        lines += [
            f"{test_set}: {_values(scores, 'sentences')} sentences, beam {_values(scores, 'beam_size')}, "
            f"length penalty {_penalties(scores)}{_stop(scores)}",
        ]
    return lines


def unequal_seeds(rows: Sequence[ArmRow]) -> list[str]:
    """Return which seeds each arm has, if the arms do not all have the same."""
    seeds = {row.label: sorted({run.seed for run in row.finished if run.seed is not None}) for row in rows}
    listed = "; ".join(f"{label} {', '.join(map(str, each))}" for label, each in seeds.items() if each)
    differ = len({tuple(each) for each in seeds.values() if each}) > 1
    return [f"The arms differ in their seeds: {listed}."] if differ else []


def provenance(study: Study, published: Published) -> list[str]:
    """Return where the published figures are from, and how the arms depart from what was published."""
    deviations = [f"Ours, unlike what was published: {'; '.join(study.deviations)}."] if study.deviations else []
    return [*published.notes, *deviations]


def _equal_tokens(finished: Sequence[StoredRun]) -> list[str]:
    """Return whether runs that share a seed were trained on the same tokens, and whether they share a tokenizer."""
    first: dict[int | None, StoredRun] = {}
    pairs = [(run, first.setdefault(run.seed, run)) for run in finished]
    if len(pairs) == len(first):
        return []
    if all(stream_of(run) == stream_of(other) for run, other in pairs):
        lines = ["Every run of a seed was trained on the same tokens in the same order."]
    elif all(share_stream(run, other) for run, other in pairs):
        lines = ["Equal FLOPs: of two runs of a seed, one was trained on the beginning of the other's tokens."]
    else:
        lines = ["The runs were NOT all trained on the same tokens in the same order (see result.json)."]
    if len({str((run.result or {}).get("tokenizer")) for run in finished}) > 1:
        lines.append(
            "The runs do not share a tokenizer, so figures that are counted in pieces (perplexity, loss, sentence BLEU "
            "over pieces) cannot be compared."
        )
    return lines


def _budget(run: StoredRun) -> str:
    """Return a run's budget and batch in words, such as ``1,200 steps, 4,096 padded tokens a batch``."""
    given = {key: value for key, value in (run.config.get("budget") or {}).items() if value is not None}
    batch = run.config.get("batch") or {}
    parts = [f"{value:.3g} FLOPs" if key == "flops" else f"{value:,} {key}" for key, value in given.items()]
    parts += [f"{batch['tokens']:,} padded tokens a batch"] if "tokens" in batch else []
    parts += [f"{batch['accumulate']} batches a step"] if batch.get("accumulate", 1) > 1 else []
    return ", ".join(parts)


def _stop(scores: Sequence[Mapping[str, object]]) -> str:
    """Return when the search of a sentence ended, empty if that was when no better translation could come."""
    found = dict.fromkeys(str(score.get("stop", EXACT)) for score in scores)
    return "" if list(found) == [EXACT] else f", search.stop={' or '.join(found)}"


def _penalties(scores: Sequence[Mapping[str, object]]) -> str:
    """Return the length penalty of all scores, or each different one, and whether each run has tuned its own."""
    if not all("length_penalty_tuned" in score for score in scores):
        return _values(scores, "length_penalty")
    ordered = sorted(scores, key=lambda score: float(str(score["length_penalty"])))
    return f"{_values(ordered, 'length_penalty')}, tuned for each run by BLEU on validation sentences"


def _values(scores: Sequence[Mapping[str, object]], key: str) -> str:
    """Return the value that all scores have under a key, or each different value if a study varies it."""
    return " or ".join(dict.fromkeys(str(score.get(key, MISSING)) for score in scores))
