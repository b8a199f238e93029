"""Compare the training speed of two checkouts: each trains for ten seconds, in turns, so that slow moments hit both.

    python -m benchmarks.turns OTHER [ARM …] [--turns 15] [--seconds 10] [--data FOLDER] [--cache FOLDER]

OTHER is a checkout's folder. Every model is trained by two processes that wait for each other. Each turn begins with
one step that is not timed, because the system may have reclaimed memory of the process that waited. Prints for each
model the median tokens per second of both, the median ratio (this checkout over OTHER), the 95% interval of the
geometric mean ratio, and the ratio of every turn.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

ARMS = ("transformer", "rnn_luong_feeding", "rnn_bahdanau", "lm4mt")
WORKER = """
import sys, time
import torch
from benchmarks.ours import Steps
from triptych.kernels.malloc import keep_freed_memory
"""
OLD_WORKER = WORKER.replace("triptych.kernels.malloc", "triptych.training.allocator")
LOOP = """
keep_freed_memory()
steps = Steps(sys.argv[1], *sys.argv[2:])
batches, tokens = steps.batches, [0]

def counted():
    for batch in batches:
        tokens[0] += int((batch.host_lengths - 1).sum())
        yield batch

steps.batches = counted()
for _ in range(5):
    steps.step()
print("ready", flush=True)
for line in sys.stdin:
    steps.step()
    began, tokens[0] = time.perf_counter(), 0
    while time.perf_counter() - began < float(line):
        steps.step()
    print(tokens[0] / (time.perf_counter() - began), flush=True)
"""


@contextmanager
def training(checkout: Path, arm: str, options: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Start a process that trains an arm with the code of a checkout whenever it is sent a number of seconds."""
    old = (checkout / "src" / "triptych" / "training" / "allocator.py").exists()
    environment = os.environ | {"PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout}"}
    command = [sys.executable, "-c", (OLD_WORKER if old else WORKER) + LOOP, arm, *options]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=checkout, env=environment, **pipes) as process:
        assert process.stdout is not None
        while (line := process.stdout.readline()) != "ready\n":
            if not line:
                raise RuntimeError(f"{checkout} cannot train {arm}.")
        yield process
        process.kill()


def speed(process: subprocess.Popen[str], seconds: float) -> float:
    """Let a process train, and return source and target tokens per second."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{seconds}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def interval(ratios: list[float]) -> tuple[float, float]:
    """Return the 95% interval of the geometric mean ratio, from 10,000 bootstrap samples of the turns."""
    logs = np.log(ratios)
    means = np.random.default_rng(0).choice(logs, (10_000, len(logs))).mean(axis=1)
    low, high = np.exp(np.quantile(means, [0.025, 0.975]))
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path)
    parser.add_argument("arms", nargs="*", metavar="ARM", help=f"some of {', '.join(ARMS)} (default: all)")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--data", type=Path, help="folder of Multi30k's files (default: download them)")
    parser.add_argument("--cache", type=Path)
    arguments = parser.parse_args()
    here, other = Path(__file__).resolve().parents[1], arguments.other.resolve()
    options = [f"data.dir={arguments.data.resolve()}"] if arguments.data else []
    options += [f"cache={arguments.cache.resolve()}"] if arguments.cache else []
    for arm in arguments.arms or ARMS:
        with training(here, arm, options) as ours, training(other, arm, options) as theirs:
            turns = []
            for turn in range(arguments.turns):  # who begins changes from turn to turn
                pair = {}
                for process in (ours, theirs) if turn % 2 else (theirs, ours):
                    pair[process.pid] = speed(process, arguments.seconds)
                turns.append((pair[ours.pid], pair[theirs.pid]))
        ratios = [mine / reference for mine, reference in turns]
        low, high = interval(ratios)
        medians = [statistics.median(side) for side in zip(*turns, strict=True)]
        found = {"ours": medians[0], "other": medians[1], "ratio": statistics.median(ratios), "95%": [low, high]}
        print(json.dumps({"arm": arm, **found, "ratios": [round(ratio, 3) for ratio in ratios]}), flush=True)


if __name__ == "__main__":
    main()
