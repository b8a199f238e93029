"""``triptych prepare``: text, tokenizers and ids, so that training can begin at once."""

from __future__ import annotations

import argparse
import sys

from triptych.commands.arguments import overrides_of
from triptych.commands.console import show_messages
from triptych.commands.printing import print_fitted, show_next
from triptych.config.next_step import after_forecast


def main(arguments: list[str]) -> int:
    """Prepare what the runs of a command line train on.

    Raises:
        UserError: whatever training would refuse.
    """
    parser = argparse.ArgumentParser(
        prog="triptych prepare",
        usage="triptych prepare [-m] [key=value ...]",
        description="Read and check the text of a run or of a sweep, train its tokenizers and encode it, into the "
        "folder that cache names. A machine without GPUs can do so before others train.",
        epilog="It takes every key of triptych train: see triptych train --help.",
    )
    _, rest = parser.parse_known_args(arguments)
    with overrides_of("prepare", rest) as overrides:
        from triptych.sweeps.preparing import prepare_arms

        show_messages()
        try:
            prepare_arms(overrides)
        except KeyboardInterrupt:
            print_fitted("interrupted; the same command goes on, and keeps what is finished", sys.stderr)
            raise
    show_next(after_forecast(rest))
    return 0
