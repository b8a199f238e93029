"""Compare the training speed of two checkouts: each trains for ten updates, in turns, so that slow moments hit both.

    python -m benchmarks.turns OTHER [ARM …] [--turns 15] [--updates 10] [--data FOLDER] [--cache FOLDER]

OTHER is a checkout's folder. Every model is trained by two processes that wait for each other. Prints for each model
the median tokens per second of both, the geometric mean of the turns' ratios (this checkout over OTHER) with its 95%
interval, and the ratio of every turn.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from benchmarks.paced import Turn, Worker, take_turns
from benchmarks.ratios import amounts, median, ratio_of

ARMS = ("transformer", "rnn_luong_feeding", "rnn_bahdanau", "lm4mt")


def training(checkout: Path, arm: str, updates: int, options: list[str]) -> Worker:
    """Start a process that trains an arm with the code of a checkout."""
    # `benchmarks` has no __init__.py: what an older checkout lacks is found in this one.
    paths = [checkout / "src", checkout, Path(__file__).resolve().parents[1]]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-m", "benchmarks.paced_steps", arm, *options]
    return Worker(command, Turn(untimed=1, least=updates, seconds=0), cwd=checkout, env=environment)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path)
    parser.add_argument("arms", nargs="*", metavar="ARM", help=f"some of {', '.join(ARMS)} (default: all)")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--updates", type=int, default=10)
    parser.add_argument("--data", type=Path, help="folder of Multi30k's files (default: download them)")
    parser.add_argument("--cache", type=Path)
    arguments = parser.parse_args()
    if arguments.turns < 2:
        parser.error(f"--turns {arguments.turns} has no interval; give 2 or more")
    here, other = Path(__file__).resolve().parents[1], arguments.other.resolve()
    options = [f"data.dir={arguments.data.resolve()}"] if arguments.data else []
    options += [f"cache={arguments.cache.resolve()}"] if arguments.cache else []
    for arm in arguments.arms or ARMS:
        with (
            training(here, arm, arguments.updates, options) as mine,
            training(other, arm, arguments.updates, options) as theirs,
        ):
            workers = {"ours": mine, "other": theirs}
            readings = take_turns(workers, arguments.turns)
        medians = {name: median(readings, name, "tokens") for name in workers}
        pairs = [amounts(readings, name, "tokens") for name in workers]
        found = ratio_of(readings, "ours", "other", "tokens")
        each = [round(one / two, 3) for one, two in zip(*pairs, strict=True)]
        print(json.dumps({"arm": arm, **medians, **found._asdict(), "ratios": each}), flush=True)


if __name__ == "__main__":
    main()
