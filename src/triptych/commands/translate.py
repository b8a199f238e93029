"""``triptych translate``: one line for each line, from a pipe, a prompt or a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from hydra.utils import instantiate
from omegaconf import DictConfig

from triptych.commands.arguments import run_command
from triptych.commands.console import show_progress
from triptych.commands.printing import print_fitted, show_next
from triptych.commands.text import asks_on_terminal, check_files, input_stream, output_file, typed_lines
from triptych.commands.threads import choose_threads
from triptych.config.next_step import after_translating
from triptych.errors import UserError

if TYPE_CHECKING:
    from triptych.decoding.progress import Progress
    from triptych.decoding.search import Search
    from triptych.decoding.translator import Translator


def main(arguments: list[str]) -> int:
    return run_command("translate", arguments, _translate)


def _translate(config: DictConfig) -> None:
    """Translate in order, one line for one line unless several hypotheses are wanted.

    Raises:
        UserError: a file that cannot be used, bytes that are not UTF-8, languages that the run does not have, or
            several hypotheses for a line without scores.
    """
    search: Search = instantiate(config.search)
    if search.n_best > 1 and not config.scores:
        raise UserError(f"search.n_best={search.n_best} gives several lines for one; add scores=true.")
    check_files(config, "input")
    typing = asks_on_terminal(config.input)
    if config.input is None and not typing:
        input_stream()
    translator = _load(config)
    direction = translator.directions.choose(config.src, config.tgt)
    if typing:
        print_fitted(
            f"{config.run}: {direction[0]} to {direction[1]}, beam {search.beam_size}. "
            "A translation for each line; Ctrl-D ends.",
            sys.stderr,
        )
    numbers, first, progress = count(1), None, _progress(config, typing)
    with output_file(config.output) as file:
        for group in _groups(config.input, typing, direction[0]):
            try:
                found = translator.n_best(group, search, config.search_tokens, direction, progress)
            except UserError as error:
                if not typing:
                    raise
                print(f"triptych: {error}", file=sys.stderr)  # a line that is too long, say: the next may do
                continue
            for hypotheses, number in zip(found, numbers, strict=False):  # the endless one last, or it loses a number
                file.write("".join(f"{line}\n" for line in _shown(hypotheses, number, config.scores)).encode())
            file.flush()
            first = first or next((line for line in group if line), None)
    given = [f"{key}={config[key]}" for key in ("src", "tgt") if config[key] is not None]
    show_next(after_translating(config.run, first, *given), of_filter=True)


def _load(config: DictConfig) -> Translator:
    from triptych.kernels.cpu_memory import prepare_cpu_memory  # imported late: --help and mistakes do not wait for it
    from triptych.runs.run import run_of

    prepare_cpu_memory()
    choose_threads()
    show_progress()
    return run_of(config).translator


def _progress(config: DictConfig, typing: bool) -> Progress | None:
    """Return the progress of the whole text; None where the translations themselves show it, or somebody types."""
    from triptych.decoding.line_groups import count_lines
    from triptych.decoding.progress import Progress

    if typing or (config.output is None and sys.stdout.isatty()):
        return None
    return Progress("translating", None if config.input is None else count_lines(Path(config.input).expanduser()))


def _groups(given: str | None, typing: bool, language: str) -> Iterator[list[str]]:
    """Yield the lines to translate, those that are there at a time."""
    from triptych.decoding.line_groups import groups_of_file, groups_of_stream

    if given is not None:
        return groups_of_file(Path(given).expanduser())
    return typed_lines(f"{language}> ") if typing else groups_of_stream(input_stream())


def _shown(hypotheses: list[tuple[str, float]], number: int, scores: bool) -> list[str]:
    """Return the lines that show the translations of a line; an empty one has none."""
    if not scores:
        return [hypotheses[0][0] if hypotheses else ""]
    return [f"{number}\t{score:.4f}\t{text}" for text, score in hypotheses or [("", 0.0)]]
