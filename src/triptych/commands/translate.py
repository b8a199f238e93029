"""triptych translate: standard input to standard output, a line for a line."""

from __future__ import annotations

import sys

from hydra.utils import instantiate
from omegaconf import DictConfig

from triptych.config import schema
from triptych.config.composition import register_search, require_values, run
from triptych.config.types import check_types
from triptych.errors import UserError


def main(arguments: list[str]) -> int:
    schema.register()
    register_search(arguments)
    return run("translate", translate, arguments)


def translate(config: DictConfig) -> None:
    """Keeps the order and, unless several hypotheses a line are asked for, the number of lines.

    Raises:
        UserError: bytes that are not UTF-8, languages that are not the run's, or several hypotheses a line without
            scores.
    """
    require_values(config)
    check_types(config)
    from triptych.kernels.malloc import keep_freed_memory
    from triptych.runs.trained_run import load  # not before it is needed: --help and mistakes do not wait for it

    search = instantiate(config.search)
    if search.n_best > 1 and not config.scores:
        raise UserError(f"search.n_best={search.n_best} gives several lines for one; add scores=true.")
    keep_freed_memory()
    translator = load(config.run, config.checkpoint, config.device)
    own = translator.directions.tested
    direction = config.src or own[0], config.tgt or own[1]
    translator.directions.require(*direction)
    lines = read(sys.stdin.buffer.read())
    found = translator.n_best(lines, search, config.search_tokens, direction)
    out = []
    for i, hypotheses in enumerate(found):
        if config.scores:
            out += [f"{i + 1}\t{score:.4f}\t{text}" for text, score in hypotheses or [("", 0.0)]]
        else:
            out.append(hypotheses[0][0] if hypotheses else "")
    sys.stdout.buffer.write("".join(f"{line}\n" for line in out).encode())
    sys.stdout.buffer.flush()


def read(data: bytes) -> list[str]:
    """The lines of UTF-8 text, split at line feeds alone."""
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    texts = []
    for number, line in enumerate(lines, 1):
        try:
            texts.append(line.decode().strip())
        except UnicodeDecodeError as error:
            raise UserError(f"standard input, line {number}, is not UTF-8; convert it first.") from error
    return texts
