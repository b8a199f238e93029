"""Measure what an arm of a sweep costs beside training and translating.

    python -m benchmarks.overhead [--arms 20] [--turns 3]

Seeds of the smallest Transformer, one after the other and side by side. What an arm takes outside of training and
translating test sets is the time of the whole sweep, from its start to its end, less the seconds that ``result.json``
has for both, shared by the processes that run at a time, divided by the number of arms. Validations count as outside.
It should be less than ``WANTED`` seconds. Nothing else may run on the machine. Prints and writes to
benchmarks/results/overhead.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from triptych.accounting.peaks import device_name
from triptych.accounting.threads import available_cores
from triptych.runs.folder import write_json
from triptych.runs.versions import versions

RESULTS = Path(__file__).parent / "results" / "overhead.json"
WANTED = 1.5
"""Most seconds that an arm should take outside of training and translating."""


def seconds_outside(arms: int, jobs: int) -> float:
    """Run a sweep, and return its seconds for each arm that it neither trains nor translates in.

    Raises:
        RuntimeError: an arm has failed.
    """
    seeds = ",".join(str(seed) for seed in range(1, arms + 1))
    with tempfile.TemporaryDirectory() as folder:
        given = ["scale=smoke", "model=transformer", f"seed={seeds}", f"jobs={jobs}"]
        command = [sys.executable, "-m", "triptych", "train", "-m", *given, f"output={folder}/runs"]
        began = time.perf_counter()
        done = subprocess.run([*command, f"cache={folder}/cache"], capture_output=True, text=True, check=False)
        everything = time.perf_counter() - began
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
        results = [json.loads(path.read_text()) for path in Path(folder, "runs").glob("*/result.json")]
    inside = sum(one["train"]["seconds"] + sum(test["seconds"] for test in one["test"].values()) for one in results)
    return (everything - inside / jobs) / arms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", type=int, default=20, help="number of arms of each sweep (20)")
    parser.add_argument("--turns", type=int, default=3, help="sweeps of each kind; their median is reported (3)")
    arguments = parser.parse_args()
    if arguments.arms < 1:
        parser.error(f"--arms {arguments.arms} is less than 1")
    ways = {"one after the other": 1, "side by side": min(available_cores(), arguments.arms)}
    found: dict[str, Any] = {"device": device_name("cpu"), "versions": versions(), "wanted": WANTED}
    found |= {"arms": arguments.arms, "seconds_outside": {way: [] for way in ways}}
    for _ in range(arguments.turns):
        for way, jobs in ways.items():
            found["seconds_outside"][way].append(seconds_outside(arguments.arms, jobs))
            write_json(RESULTS, found)
            print(f"{way}: {statistics.median(found['seconds_outside'][way]):.2f} s an arm", flush=True)


if __name__ == "__main__":
    main()
