"""``triptych evaluate``: translate and score a split or files, score contrastive suites, or another system's output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig

from triptych.commands.arguments import run_command
from triptych.commands.next_step import after_hypothesis, after_sweep, after_translating, first_line, show_next
from triptych.commands.threads import choose_threads


def main(arguments: list[str]) -> int:
    return run_command("evaluate", arguments, _evaluate)


def _evaluate(config: DictConfig) -> None:
    from triptych.kernels.malloc import keep_freed_memory  # imported late: --help and mistakes do not wait for it

    keep_freed_memory()
    choose_threads()
    if config.split is None:
        _evaluate_files(config)
    else:
        _evaluate_split(config)


def _evaluate_split(config: DictConfig) -> None:
    from triptych.data.contrast import SUITES
    from triptych.evaluation.run import evaluate_run, evaluate_run_on_suites
    from triptych.runs.run import run_of

    run = run_of(config)
    if config.split == SUITES:
        _print_suites(evaluate_run_on_suites(run, config.suite_items, config.search_tokens))
        print(f"items: {run.files.suites}")
        show_next(after_sweep(run.folder.parent))
        return
    found = evaluate_run(run, config.split, config.search, config.metric, config.search_tokens)
    _print_translated(found.split, found.scores, found.metrics)
    print(f"translations: {found.translations}")
    sources = found.translations.with_suffix(".src.txt")
    show_next(after_translating(config.run, first_line(str(sources))))


def _evaluate_files(config: DictConfig) -> None:
    from triptych.evaluation.text import evaluate_files
    from triptych.runs.run import run_of

    found = evaluate_files(config, None if config.run is None else run_of(config))
    if found.translated:
        _print_translated(found.name, found.scores, found.metrics)
    else:
        print(f"{found.name}: {found.scores['sentences']:,} sentences")
        _print_metrics(found.scores, found.metrics)
        print(f"repetition rate {found.scores['repetition_rate']:.4f}")
    if found.kept is not None:
        print(f"kept: {found.kept}")
    if found.translated:
        given = [f"{key}={config[key]}" for key in ("src", "tgt") if config[key] is not None]
        show_next(after_translating(config.run, first_line(config.input), *given))
    else:
        show_next(after_hypothesis())


def _print_translated(name: str, scores: Mapping[str, Any], metrics: Mapping[str, str]) -> None:
    penalty = f"{scores['length_penalty']:g}" + (" (tuned)" if "length_penalty_tuned" in scores else "")
    print(
        f"{name}: {scores['sentences']:,} sentences, checkpoint {scores['checkpoint']}, beam {scores['beam_size']}, "
        f"length penalty {penalty}"
    )
    _print_metrics(scores, metrics)
    if scores["nats_per_sentence"] is not None:
        print(f"references: {scores['nats_per_sentence']:.3f} nats a sentence, {scores['nats_per_word']:.4f} a word")
    print(f"repetition rate {scores['repetition_rate']:.4f}, cut at the length limit {scores['cut_share']:.4f}")
    print(f"mean smoothed sentence BLEU over pieces {scores['sentence_bleu_pieces']:.2f}  (not comparable with BLEU)")
    for row in scores["by_length"]:
        if row["sentences"]:
            print(f"  {row['label']:>6} words  {row['sentences']:5} sentences  BLEU {row['bleu']:.2f}")


def _print_metrics(scores: Mapping[str, Any], metrics: Mapping[str, str]) -> None:
    for key, name in metrics.items():
        print(f"{name} {scores[key]:.2f}  {scores[f'{key}_signature']}")
        if "brevity_penalty" in (details := scores.get(f"{key}_details", {})):
            print(f"  brevity penalty {details['brevity_penalty']:.3f}, length ratio {details['length_ratio']:.3f}")


def _print_suites(suites: Mapping[str, Mapping[str, Any]]) -> None:
    from triptych.reports.statistics.proportion import wilson_interval

    print("right translation likelier than the wrong one, with the 95% interval over items (chance 50%):")
    for name, scores in suites.items():
        detail = ", ".join(f"{kind} {one['right']} of {one['items']}" for kind, one in scores["by_kind"].items())
        low, high = (100 * bound for bound in wilson_interval(scores["right"], scores["items"]))
        print(f"  {name:20} {100 * scores['accuracy']:5.1f}% [{low:.1f}, {high:.1f}]  {detail}")
