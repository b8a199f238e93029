"""How the figures of a report were made: in short below its first table, in full as a table of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from triptych.decoding.choices import EXACT
from triptych.reports.arm_rows import ArmRow, runs_of
from triptych.reports.comparability import batches_per_step, has_budget_of_flops, same_stream, share_stream
from triptych.reports.measures import share_tokenizer
from triptych.reports.scores import describe
from triptych.reports.stored_run import StoredRun, metric_names, test_sets
from triptych.reports.study import Study
from triptych.reports.table import MISSING, Table, make_cells
from triptych.runs.convergence import SMALL, late_fall, still_falling


def failures(rows: Sequence[ArmRow]) -> list[str]:
    """Return why runs failed, a sentence each."""
    return [reason for row in rows for reason in row.failures]


def in_short(rows: Sequence[ArmRow], study: Study) -> list[str]:
    """Return how the arms of a table were trained and how they translated, and what ± is."""
    counts = {len(row.finished) for row in rows if row.finished}
    spread = []
    if max(counts, default=0) > 1:
        seeds = f"{counts.pop()} seeds" if len(counts) == 1 else "the seeds of an arm"
        spread = [f"± is the standard deviation over {seeds}."]
    return [*how_trained(rows, study), *how_translated(runs_of(rows)), *spread]


def how_trained(rows: Sequence[ArmRow], study: Study) -> list[str]:
    """Return the budget, the batch, and whether the tokens were the same, as one string."""
    runs = runs_of(rows)
    finished = [run for run in runs if run.result]
    found = [*_budgets(runs), *_tokens(rows, study).values(), *_exceptions(finished).values()]
    return [f"Training: {' '.join(found)}"] if found else []


def how_translated(runs: Sequence[StoredRun]) -> list[str]:
    """Return the number of translated sentences of each test set, and the search."""
    searches: dict[str, list[str]] = {}
    for name, scores in _scores(runs).items():
        searches.setdefault(_search(scores), []).append(name)
    return [f"Translation of {' and '.join(names)}: {search}." for search, names in searches.items()]


def set_up(rows: Sequence[ArmRow], study: Study) -> Table:
    """Return every setting that says how the figures were made, a line each."""
    runs = runs_of(rows)
    finished = [run for run in runs if run.result]
    lines = [("seeds", ", ".join(map(str, seeds)))] if (seeds := _seeds(runs)) else []
    lines += [("training", sentence) for sentence in _budgets(runs)]
    lines += [*_tokens(rows, study).items(), *_exceptions(finished).items()]
    adopted = sum("weights_of" in (run.result or {}) for run in finished)
    if adopted:
        lines.append(
            (
                "shared trainings",
                f"{adopted} of {len(finished)} runs have the weights of another (weights_of in result.json), trained "
                "once: the costs and the curve of that training stand in each of their rows.",
            )
        )
    versions = [(run.result or {}).get("versions", {}) for run in finished]
    sources = {found.get(key) for found in versions for key in ("source", "started_by")} - {None}
    if len(sources) > 1:
        lines.append(("code", f"The runs are of {len(sources)} versions of the code (versions in result.json)."))
    for name, scores in _scores(runs).items():
        lines.append((name, f"{_search(scores)}."))
    lines += all_signatures(runs)
    lines += [("unlike what was published", f"{text.rstrip('.')}.") for text in study.deviations]
    return Table("Set-up", make_cells(["setting", "value"], lines), prose=frozenset({0, 1}))


def all_signatures(runs: Sequence[StoredRun]) -> list[tuple[str, str]]:
    """Return the signature of each metric, after the names of its test set and the metric."""
    found = []
    for name, scores in _scores(runs).items():
        for metric in metric_names(runs, name):
            key = f"{metric}_signature"
            found.append((f"{name}, {describe(metric).header}", _values([one for one in scores if key in one], key)))
    return found


def unequal_seeds(rows: Sequence[ArmRow]) -> list[str]:
    """Return which seeds each arm has, if the arms do not all have the same."""
    seeds = {row.label: sorted({run.seed for run in row.finished if run.seed is not None}) for row in rows}
    listed = "; ".join(f"{label} {', '.join(map(str, each))}" for label, each in seeds.items() if each)
    differ = len({tuple(each) for each in seeds.values() if each}) > 1
    return [f"The arms differ in their seeds: {listed}."] if differ else []


def not_converged(rows: Sequence[ArmRow]) -> list[str]:
    """Return which arms had not converged, in words; nothing if all had."""
    trained, found = [row for row in rows if row.finished], [row.label for row in unconverged(rows)]
    if not found:
        return []
    named = "all arms" if len(found) == len(trained) > 1 else ", ".join(found)
    return [
        f"Not converged: {named}. The validation loss still fell by more than {SMALL} nats a token in the last fifth "
        "of the training, and longer trainings may order the arms otherwise."
    ]


def unconverged(rows: Sequence[ArmRow]) -> list[ArmRow]:
    """Return the arms whose validation loss still fell when the training ended, in any of their seeds."""
    return [row for row in rows if any(map(_still_falling, row.finished))]


def _still_falling(run: StoredRun) -> bool:
    curve = run.curve("loss")
    return still_falling(late_fall(curve["step"].tolist(), curve["value"].tolist()))


def _seeds(runs: Sequence[StoredRun]) -> list[int]:
    """Return the seeds of the finished runs, in order."""
    return sorted({run.seed for run in runs if run.result and run.seed is not None})


def _budgets(runs: Sequence[StoredRun]) -> list[str]:
    """Return the budget and the batch of all runs, or each different one, as a sentence."""
    found = " or ".join(dict.fromkeys(filter(None, map(_budget, runs))))
    return [f"{found}."] if found else []


def _scores(runs: Sequence[StoredRun]) -> dict[str, list[Mapping[str, object]]]:
    """Return the scores of all runs, by test set."""
    return {name: [run.tests[name] for run in runs if name in run.tests] for name in test_sets(runs)}


def _search(scores: Sequence[Mapping[str, object]]) -> str:
    """Return the number of translated sentences, and the search."""
    return (
        f"{_sentences(scores)} sentences, beam {_values(scores, 'beam_size')}, "
        f"length penalty {_penalties(scores)}{_further(scores)}"
    )


def _sentences(scores: Sequence[Mapping[str, object]]) -> str:
    """Return the number of sentences of all scores, or each different one."""
    found = dict.fromkeys(score.get("sentences") for score in scores)
    return " or ".join(f"{count:,}" if isinstance(count, int) else MISSING for count in found)


def _tokens(rows: Sequence[ArmRow], study: Study) -> dict[str, str]:
    """Return whether runs that share a seed were trained on the same tokens, and whether they share a tokenizer."""
    finished = [run for run in runs_of(rows) if run.result]
    which = "all arms" if all(row.complete for row in rows) else "all finished runs"
    found = {}
    if finished and not share_tokenizer(finished):
        found["tokenizers"] = "The tokenizers differ, so figures counted in pieces cannot be compared."
    pairs = [(run, other) for run, other in combinations(finished, 2) if run.seed == other.seed]
    if not pairs:
        return found
    if all(same_stream(run, other) for run, other in pairs):
        found["tokens"] = f"For a given seed, {which} saw the same tokens in the same order."
    elif all(share_stream(run, other) for run, other in pairs):
        equal = len({str(run.config.get("budget")) for run in finished}) == 1
        budget = "Equal FLOPs: for" if equal and all(map(has_budget_of_flops, finished)) else "For"
        found["tokens"] = f"{budget} a given seed, one arm saw the beginning of another's tokens."
    elif "tokens" in study.varies:
        found["tokens"] = "The arms saw different tokens, on purpose."
    else:
        found["tokens"] = "The runs were NOT all trained on the same tokens in the same order (see result.json)."
    return found


def _exceptions(finished: Sequence[StoredRun]) -> dict[str, str]:
    """Return which runs spent less than their budget, and which began with the weights of another one."""
    found = {}
    if tuned := sum("init" in (run.result or {}) for run in finished):
        found["fine-tuned"] = (
            f"Fine-tuned: {tuned} of {len(finished)} runs began with the weights of another run (init in result.json), "
            "whose training is part of no cost shown here."
        )
    if stopped := [run for run in finished if (run.result or {}).get("stopped_early")]:
        trained = [(run.result or {})["train"] for run in stopped]
        steps = [f"{count:,}" for count in sorted({one["steps"] for one in trained})]
        after = steps[0] if len(steps) == 1 else f"{steps[0]} to {steps[-1]}"
        planned = " or ".join(f"{count:,}" for count in sorted({one["planned_steps"] for one in trained}))
        found["stopped early"] = (
            f"Stopped early: {len(stopped)} of {len(finished)} runs, after {after} of {planned} steps, so budgets are "
            "not equal."
        )
    return found


def _budget(run: StoredRun) -> str:
    """Return a run's budget and batch in words, such as ``1,200 steps, 4,096 padded tokens a batch``."""
    given = {key: value for key, value in (run.config.get("budget") or {}).items() if value is not None}
    batch = run.config.get("batch") or {}
    times = (run.config.get("match") or {}).get("budget_times")
    multiple = "" if times is None else f"{times:g} times "
    units = (
        f"{value:.3g} FLOPs" if key == "flops" else f"{value:,} {key.removesuffix('s') if value == 1 else key}"
        for key, value in given.items()
    )
    parts = [f"{multiple}{unit}" for unit in units]
    parts += [f"{batch['tokens']:,} padded tokens a batch"] if "tokens" in batch else []
    parts += [f"{several} batches a step"] if (several := batches_per_step(run)) > 1 else []
    return ", ".join(parts)


def _further(scores: Sequence[Mapping[str, object]]) -> str:
    """Return the settings of a search that some run has changed, such as ``, search.stop=first``."""
    text = ""
    for key, default in (("min_length", 0), ("stop", EXACT)):
        found = dict.fromkeys(str(score.get(key, default)) for score in scores)
        text += "" if list(found) == [str(default)] else f", search.{key}={' or '.join(found)}"
    return text


def _penalties(scores: Sequence[Mapping[str, object]]) -> str:
    """Return the length penalty of all scores, or each different one, and whether each run has tuned its own."""
    if not all("length_penalty_tuned" in score for score in scores):
        return _values(scores, "length_penalty")
    ordered = sorted(scores, key=lambda score: float(str(score["length_penalty"])))
    return f"{_values(ordered, 'length_penalty')}, tuned for each run by BLEU on validation sentences"


def _values(scores: Sequence[Mapping[str, object]], key: str) -> str:
    """Return the value that all scores have under a key, or each different value if a study varies it."""
    found = list(dict.fromkeys(score.get(key, MISSING) for score in scores))
    numbers = [one for one in found if isinstance(one, int)]
    if len(numbers) == len(found) > 2 and sorted(numbers) == [*range(min(numbers), max(numbers) + 1)]:
        return f"{min(numbers)} to {max(numbers)}"
    return " or ".join(map(str, found))
