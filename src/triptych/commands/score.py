"""``triptych score``: how likely a trained run finds given translations."""

from __future__ import annotations

import sys

from omegaconf import DictConfig

from triptych.commands.arguments import run_command
from triptych.commands.console import show_progress
from triptych.commands.printing import print_fitted, show_next
from triptych.commands.text import check_files, output_file
from triptych.commands.threads import choose_threads
from triptych.config.next_step import after_translating


def main(arguments: list[str]) -> int:
    return run_command("score", arguments, _score)


def _score(config: DictConfig) -> None:
    """Write a line for each reference, and the means to standard error.

    Raises:
        UserError: files that cannot be used, or languages that the run does not have.
    """
    check_files(config, "input", "reference")
    from triptych.evaluation.text import read_text, score_text  # late: mistakes do not wait for it
    from triptych.kernels.cpu_memory import prepare_cpu_memory
    from triptych.runs.run import run_of

    text = read_text(config.input, config.reference)
    prepare_cpu_memory()
    choose_threads()
    show_progress()
    run = run_of(config)
    direction = run.translator.directions.choose(config.src, config.tgt)
    found = score_text(run, text, direction, config.search_tokens)
    with output_file(config.output) as file:
        for number, (value, line) in enumerate(zip(found["log_probabilities"], text.tgt, strict=True), 1):
            file.write(f"{number}\t{value:.4f}\t{line}\n".encode())
        file.flush()
    print_fitted(
        f"{len(text.tgt):,} references, checkpoint {run.checkpoint}: {found['nats_per_sentence']:.3f} nats a sentence, "
        f"{found['nats_per_word']:.4f} a word",
        sys.stderr,
    )
    least = min(range(len(text.tgt)), key=lambda place: found["log_probabilities"][place])
    given = [f"{key}={config[key]}" for key in ("src", "tgt") if config[key] is not None]
    words = after_translating(config.run, text.src[least], *given, f"reference={text.tgt[least]}")
    show_next(words, of_filter=True)
