"""``triptych evaluate``: translate and score one split, or score the contrastive suites, with a trained run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from triptych.commands.arguments import run_command
from triptych.commands.threads import choose_threads

if TYPE_CHECKING:
    from triptych.evaluation.run import RunEvaluation


def main(arguments: list[str]) -> int:
    return run_command("evaluate", arguments, _evaluate)


def _evaluate(config: DictConfig) -> None:
    from triptych.data.contrast import SUITES  # imported late: --help and mistakes do not wait for it
    from triptych.evaluation.run import evaluate_run, evaluate_run_on_suites
    from triptych.kernels.malloc import keep_freed_memory
    from triptych.runs.run import Run

    keep_freed_memory()
    choose_threads()
    run = Run(config.run, config.checkpoint, config.device)
    if config.split == SUITES:
        _print_suites(evaluate_run_on_suites(run, config.suite_items, config.search_tokens))
        print(f"items: {run.files.suites}")
        return
    _print_split(evaluate_run(run, config.split, config.search, config.metric, config.search_tokens))


def _print_split(found: RunEvaluation) -> None:
    scores = found.scores
    beam = scores["beam_size"]
    penalty = f"{scores['length_penalty']:g}" + (" (tuned)" if "length_penalty_tuned" in scores else "")
    print(
        f"{found.split}: {scores['sentences']:,} sentences, checkpoint {found.checkpoint}, beam {beam}, "
        f"length penalty {penalty}"
    )
    for key, name in found.metrics.items():
        print(f"{name} {scores[key]:.2f}  {scores[f'{key}_signature']}")
        if "brevity_penalty" in (details := scores.get(f"{key}_details", {})):
            print(f"  brevity penalty {details['brevity_penalty']:.3f}, length ratio {details['length_ratio']:.3f}")
    if scores["nats_per_sentence"] is not None:
        print(f"references: {scores['nats_per_sentence']:.3f} nats a sentence, {scores['nats_per_word']:.4f} a word")
    print(f"repetition rate {scores['repetition_rate']:.4f}, cut at the length limit {scores['cut_share']:.4f}")
    print(f"mean smoothed sentence BLEU over pieces {scores['sentence_bleu_pieces']:.2f}  (not comparable with BLEU)")
    for row in scores["by_length"]:
        if row["sentences"]:
            print(f"  {row['label']:>6} words  {row['sentences']:5} sentences  BLEU {row['bleu']:.2f}")
    print(f"translations: {found.translations}")


def _print_suites(suites: Mapping[str, Mapping[str, Any]]) -> None:
    from triptych.reports.statistics.proportion import wilson_interval

    print("right translation likelier than the wrong one, with the 95% interval over items (chance 50%):")
    for name, scores in suites.items():
        detail = ", ".join(f"{kind} {one['right']} of {one['items']}" for kind, one in scores["by_kind"].items())
        low, high = (100 * bound for bound in wilson_interval(scores["right"], scores["items"]))
        print(f"  {name:20} {100 * scores['accuracy']:5.1f}% [{low:.1f}, {high:.1f}]  {detail}")
