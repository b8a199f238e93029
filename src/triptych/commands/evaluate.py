"""``triptych evaluate``: translate and score a split or files, score contrastive suites, or another system's output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig

from triptych.commands.arguments import run_command
from triptych.commands.console import show_progress
from triptych.commands.printing import print_fitted, print_small_table, show_next
from triptych.commands.threads import choose_threads
from triptych.config.next_step import after_hypothesis, after_sweep, after_training, after_translating, first_line
from triptych.reports.scores import describe


def main(arguments: list[str]) -> int:
    return run_command("evaluate", arguments, _evaluate)


def _evaluate(config: DictConfig) -> None:
    from triptych.kernels.cpu_memory import prepare_cpu_memory  # imported late: --help and mistakes do not wait for it

    prepare_cpu_memory()
    choose_threads()
    show_progress()
    if config.split is None:
        _evaluate_files(config)
    else:
        _evaluate_split(config)


def _evaluate_split(config: DictConfig) -> None:
    from triptych.data.contrast import SUITES
    from triptych.evaluation.run import evaluate_run, evaluate_run_on_suites
    from triptych.reports.evaluation_tables import suite_table
    from triptych.runs.run import run_of

    run = run_of(config)
    if config.split == SUITES:
        suites = evaluate_run_on_suites(run, config.suite_items, config.search_tokens)
        print_small_table(suite_table(suites.scores))
        if suites.items is not None:
            print_fitted(f"items: {suites.items}")
        show_next(after_sweep(run.folder.parent) if suites.items else after_training(config.run))
        return
    found = evaluate_run(run, config.split, config.search, config.metric, config.search_tokens)
    _print_translated(found.split, found.scores, found.metrics)
    if found.translations is not None:
        print_fitted(f"translations: {found.translations}")
        sources = found.translations.with_suffix(".src.txt")
        show_next(after_translating(config.run, first_line(str(sources))))


def _evaluate_files(config: DictConfig) -> None:
    from triptych.evaluation.text import evaluate_files
    from triptych.runs.run import run_of

    found = evaluate_files(config, None if config.run is None else run_of(config))
    if found.first_source is not None:
        _print_translated(found.name, found.scores, found.metrics)
    else:
        print_fitted(f"{found.name}: {found.scores['sentences']:,} sentences")
        _print_metrics(found.scores, found.metrics)
        print_fitted(f"repetition rate {found.scores['repetition_rate']:.4f}")
    if found.kept is not None:
        print_fitted(f"kept: {found.kept}")
    if found.first_source is not None:
        given = [f"{key}={config[key]}" for key in ("src", "tgt") if config[key] is not None]
        show_next(after_translating(config.run, found.first_source, *given))
    else:
        show_next(after_hypothesis())


def _print_translated(name: str, scores: Mapping[str, Any], metrics: Mapping[str, str]) -> None:
    from triptych.reports.evaluation_tables import length_table

    penalty = f"{scores['length_penalty']:g}" + (" (tuned)" if "length_penalty_tuned" in scores else "")
    print_fitted(
        f"{name}: {scores['sentences']:,} sentences, checkpoint {scores['checkpoint']}, beam {scores['beam_size']}, "
        f"length penalty {penalty}"
    )
    _print_metrics(scores, metrics)
    if scores["nats_per_sentence"] is not None:
        print_fitted(
            f"references: {scores['nats_per_sentence']:.3f} nats a sentence, {scores['nats_per_word']:.4f} a word"
        )
    print_fitted(f"repetition rate {scores['repetition_rate']:.4f}, cut at the length limit {scores['cut_share']:.4f}")
    print_fitted(
        f"mean smoothed sentence BLEU over pieces {scores['sentence_bleu_pieces']:.2f}  (not comparable with BLEU)"
    )
    if len((table := length_table(scores["by_length"])).cells):
        print()
        print_small_table(table)


def _print_metrics(scores: Mapping[str, Any], metrics: Mapping[str, str]) -> None:
    for key, name in metrics.items():
        print_fitted(f"{name} {scores[key]:{describe(key).python_format}}  {scores[f'{key}_signature']}")
        if "brevity_penalty" in (details := scores.get(f"{key}_details", {})):
            print_fitted(
                f"  brevity penalty {details['brevity_penalty']:.3f}, length ratio {details['length_ratio']:.3f}"
            )
