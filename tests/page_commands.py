"""Commands that pages show, run at the smallest scale."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

from conftest import write_three_languages

SMALL = ["scale=smoke", "cache=cache"]
OWN_TEXT = ["tokenizer.vocab_size=320"]  # as many pieces as 40 sentences can fill
COMPOSED = ("train", "forecast")
"""Commands that take a scale."""


def blocks(text: str, language: str) -> list[str]:
    """The fenced code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def commands(text: str) -> list[list[str]]:
    """The words of each ``triptych`` command in the shell blocks of a page, with what is piped into it and from it."""
    joined = "\n".join(blocks(text, "sh")).replace("\\\n", " ")
    found = [shlex.split(line, comments=True) for line in joined.splitlines()]
    return [words for words in found if "triptych" in words[:1] or (words[:1] == ["echo"] and "triptych" in words)]


def run_command(words: list[str], folder: Path, command_line: Callable[..., CompletedProcess[str]]) -> str:
    """Run a command in a folder at the smallest scale, with its pipe and redirections; return its output."""
    at = words.index("triptych")
    stdin = " ".join(words[1 : at - 1]) + "\n" if at else ""  # echo WORDS | triptych …
    arguments, files = words[at + 1 :], {}
    for sign in ("<", ">"):
        if sign in arguments:
            at = arguments.index(sign)
            files[sign] = folder / arguments[at + 1]
            arguments = [*arguments[:at], *arguments[at + 2 :]]
    if "<" in files:
        stdin = files["<"].read_text(encoding="utf-8")
    if arguments[0] in COMPOSED:
        scaled = [one for one in arguments if one.startswith("scale=")]
        # Another seed, so that training at the default scale stays another run than training at scale=smoke.
        seed = [] if scaled or any(one.startswith("seed=") for one in arguments) else ["seed=7"]
        arguments = [one for one in arguments if one not in scaled] + SMALL + seed
        arguments += OWN_TEXT if "data=text" in arguments else []
    done = command_line(*arguments, cwd=folder, stdin=stdin)
    assert done.returncode == 0, f"{arguments}: {done.stderr}"
    if ">" in files:
        files[">"].write_text(done.stdout, encoding="utf-8")
    return done.stdout


def write_inputs(folder: Path) -> Path:
    """Write the files that the pages' commands read."""
    (folder / "corpus").mkdir()
    write_three_languages(folder / "corpus")
    for name in ("input.en", "talk.en"):
        (folder / name).write_text("cat sleeps\nred house\n", encoding="utf-8")
    for name in ("talk.fr", "other_system.fr"):
        (folder / name).write_text("chat dort\nmaison rouge\n", encoding="utf-8")
    return folder
