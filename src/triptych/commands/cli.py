"""The command line: which commands there are."""

from __future__ import annotations

import difflib
import importlib
import sys

from triptych.commands.boundary import guarded
from triptych.commands.streams import require_output
from triptych.errors import UserError
from triptych.files import require_current_folder

COMMANDS = {
    "demo": "translate with three small trained models that come with triptych",
    "train": "train a model, translate the test sets, write result.json",
    "prepare": "read the text of a run or a sweep, train its tokenizers and encode it",
    "forecast": "say what a run or a sweep will cost, before anything is trained",
    "evaluate": "translate and score a split or a text with a trained run, or score another system's output",
    "translate": "translate a text with a trained run: from a pipe, a prompt or a file",
    "score": "say how likely a trained run finds the translations of a text",
    "attend": "draw the attention of trained runs over a sentence as a web page",
    "dashboard": "describe the W&B workspace and report of a study, and publish them",
    "serve": "translate with trained runs in a browser: a local page and an HTTP API",
    "export": "write a trained run for another program, or to share it: format=ctranslate2|huggingface|safetensors",
    "list": "list models, data, studies and whatever else can be chosen: triptych list models",
    "completion": "print the script that completes command lines in a shell: bash or zsh",
    "report": "print the table of the runs below a folder, and write it as Markdown, LaTeX, CSV and HTML",
}


def main() -> int:
    """Run the command that ``sys.argv`` names, and return the exit status. No error leaves it as a traceback."""
    return guarded(_run)


def _run() -> int:
    arguments = sys.argv[1:]
    require_output(arguments)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if "--version" in arguments:
        from triptych import __version__

        print(__version__)
        return 0
    if (name := arguments[0]) not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, n=1)
        meant = (
            f"did you mean {close[0]}? triptych --help lists all." if close else f"choose one of {', '.join(COMMANDS)}."
        )
        raise UserError(f"'{name}' is no command; {meant}")
    require_current_folder()
    return importlib.import_module(f"triptych.commands.{name}").main(arguments[1:])


def usage() -> str:
    from triptych.config.text_columns import in_two_columns

    return "\n".join(
        [
            "usage: triptych COMMAND [key=value ...]",
            "       triptych report FOLDER",
            "",
            *in_two_columns(COMMANDS.items()),
            "",
            "triptych COMMAND --help shows a command's keys.",
        ]
    )
