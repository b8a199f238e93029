"""``triptych evaluate``: translate and score one split with a trained run."""

from __future__ import annotations

from omegaconf import DictConfig

from triptych.commands.arguments import run_command


def main(arguments: list[str]) -> int:
    return run_command("evaluate", arguments, _evaluate)


def _evaluate(config: DictConfig) -> None:
    from triptych.evaluation.run import evaluate_run  # imported late: --help and mistakes do not wait for it
    from triptych.kernels.malloc import keep_freed_memory
    from triptych.runs.run import Run

    keep_freed_memory()
    run = Run(config.run, config.checkpoint, config.device)
    found = evaluate_run(run, config.split, config.search, config.metric, config.search_tokens)
    scores = found.scores
    beam = scores["beam_size"]
    print(f"{config.split}: {scores['sentences']:,} sentences, checkpoint {found.checkpoint}, beam {beam}")
    for key, name in found.metrics.items():
        print(f"{name} {scores[key]:.2f}  {scores[f'{key}_signature']}")
    print(f"mean smoothed sentence BLEU over pieces {scores['sentence_bleu_pieces']:.2f}  (not comparable with BLEU)")
    for row in scores["by_length"]:
        if row["sentences"]:
            print(f"  {row['label']:>6} words  {row['sentences']:5} sentences  BLEU {row['bleu']:.2f}")
    print(f"translations: {found.translations}")
