"""``triptych attend``: draw the attention of trained runs over a sentence as a web page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig

from triptych.commands.arguments import run_command, shows_only, split_config_dirs
from triptych.commands.printing import print_fitted, show_next
from triptych.commands.threads import choose_threads
from triptych.config.quoting import quoted_text
from triptych.errors import UserError
from triptych.files import require_output

WITHOUT = r"_without_\d+$"
"""Ends the name of the page that shows a model without a number of its heads."""


def main(arguments: list[str]) -> int:
    return run_command("attend", arguments if shows_only(arguments) else with_sentence(arguments), _attend)


def with_sentence(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with their texts as Hydra reads them: ``sentence=…`` for words that stand alone."""
    folders, rest = split_config_dirs(arguments)
    given, words = [f"--config-dir={folder}" for folder in folders], []
    for argument in rest:
        key, equals, value = argument.partition("=")
        if equals and key in ("sentence", "reference"):
            given.append(argument if value == "null" else quoted_text(key, value))
        elif re.match(r"[+~]{0,2}[a-z][\w./@-]*=|--?[a-z]", argument):
            given.append(argument)
        else:
            words.append(argument)
    return [*given, quoted_text("sentence", " ".join(words))] if words else given


def _attend(config: DictConfig) -> None:
    """Draw the page, and print what was translated, the page's path, and the command that may come next.

    Raises:
        UserError: a run without attention, languages or heads that a run does not have, or a place that cannot be
            written.
    """
    from triptych.attention.terminal import describe  # imported late: --help and mistakes do not wait for it
    from triptych.runs.run import run_of

    require_output(config.output, {})
    choose_threads()
    if not config.sentence.strip():
        raise UserError("the sentence is empty; give one to draw the attention over.")
    drawn = []
    for folder in _as_list(config.run):
        run = run_of(config, folder)
        direction = run.translator.directions.choose(config.src, config.tgt)
        drawn.append(run.attention(config.sentence, config.reference, direction, _as_list(config.ablate)))
    path = drawn[0].write(config.output, *drawn[1:])
    for attention in drawn:
        print_fitted("\n".join(describe(attention)))
    print_fitted(f"attention: {path} (open it in a browser)")
    if head := drawn[0].most_needed_head():
        show_next(_next_command(config, [*drawn[0].off, head]))


def _as_list(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else [str(one) for one in value]


def _next_command(config: DictConfig, off: list[str]) -> list[str]:
    """Return the command that switches off heads, and writes a page beside the one that was written."""
    given = [f"{key}={config[key]}" for key in ("src", "tgt", "reference", "checkpoint") if config[key] is not None]
    given += [] if config.device == "cpu" else [f"device={config.device}"]
    for key, values in (("trust", _as_list(config.trust)), ("ablate", off)):
        if values:
            given.append(f"{key}={values[0]}" if len(values) == 1 else f"{key}=[{','.join(values)}]")
    page = Path(config.output)
    output = page.with_stem(f"{re.sub(WITHOUT, '', page.stem)}_without_{len(off)}")
    return ["triptych", "attend", f"run={_as_list(config.run)[0]}", *given, f"output={output}", config.sentence]
