"""The page of the command line: what each command without a page of its keys says with ``--help``."""

from __future__ import annotations

from unittest.mock import patch

from docs_build.command import triptych
from docs_build.reference import schemas
from docs_build.repository import ROOT
from triptych.commands.cli import COMMANDS

INTRODUCTION = """# Command line

`triptych COMMAND --help` prints the same in a terminal, with the keys of a command that has any.
"""


def page() -> str:
    """Return the Markdown text of the page.

    Raises:
        RuntimeError: a command does not print its help.
    """
    keys = schemas()
    parts = [INTRODUCTION]
    for name, summary in COMMANDS.items():
        parts.append(f"## triptych {name}\n")
        parts.append(f"{summary[0].upper()}{summary[1:]}. [Its keys]({name}.md).\n" if name in keys else _help(name))
    return "\n".join(parts)


def _help(command: str) -> str:
    with patch.dict("os.environ", {"COLUMNS": "100"}):
        done = triptych(command, "--help", cwd=ROOT)
    if done.returncode:
        raise RuntimeError(f"triptych {command} --help ended with status {done.returncode}: {done.stderr}")
    return f"```text\n{done.stdout.rstrip()}\n```\n"
