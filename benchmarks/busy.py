"""Measure what a training keeps of its speed beside a process that keeps one core busy.

    python -m benchmarks.busy [--turns 3] [--steps 300]

On two cores it should keep at least ``WANTED`` of its speed. Each turn trains alone and beside the busy process, in
each way of ``WAYS``. Prints and writes to benchmarks/results/busy.json the tokens per second and the medians of the
turns' ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from triptych.accounting.threads import THREADS, available_cores
from triptych.runs.folder import write_json

RESULTS = Path(__file__).parent / "results" / "busy.json"
WANTED = 0.45
"""Least share of its speed that a training on two cores keeps."""
WAIT_POLICY, SPIN_COUNT = "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"
ALL = {THREADS: str(available_cores())}
WAYS = {
    "default": {},
    "all threads": ALL,
    "all threads, which spin briefly": {**ALL, SPIN_COUNT: "1000"},
    "all threads, which never spin": {**ALL, WAIT_POLICY: "PASSIVE"},
}
"""How many threads a training has and how they wait for each other, with the variables that choose it."""
CHOSEN = (THREADS, WAIT_POLICY, SPIN_COUNT)
BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
"""Ends with the benchmark, however that ends."""


@contextmanager
def busy_process(runs: bool) -> Iterator[None]:
    """Keep one core busy until the end of the context, if it runs at all."""
    if not runs:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", BUSY])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def tokens_per_second(way: str, beside: bool, steps: int, folder: Path) -> float:
    """Train a Transformer at the toy scale and return its speed."""
    command = [sys.executable, "-m", "triptych", "train", "model=transformer", "scale=toy", f"budget.steps={steps}"]
    command += [f"validation.every={steps}", "data.test=20", "data.test_long=20", f"cache={folder / 'cache'}"]
    with tempfile.TemporaryDirectory(dir=folder) as output, busy_process(beside):
        environment = {name: value for name, value in os.environ.items() if name not in CHOSEN}
        subprocess.run([*command, f"output={output}"], check=True, capture_output=True, env=environment | WAYS[way])
        (result,) = Path(output).rglob("result.json")
        return float(json.loads(result.read_text())["train"]["tokens_per_second"])


def median_ratio(values: list[float], others: list[float]) -> float:
    """Return the median of the turns' ratios."""
    return statistics.median(one / other for one, other in zip(values, others, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure a training beside a busy process.")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()
    alone: dict[str, list[float]] = {way: [] for way in WAYS}
    beside: dict[str, list[float]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        tokens_per_second("default", False, 2, Path(folder))  # prepares the text
        for _ in range(arguments.turns):
            for way in WAYS:
                alone[way].append(tokens_per_second(way, False, arguments.steps, Path(folder)))
                beside[way].append(tokens_per_second(way, True, arguments.steps, Path(folder)))
                print(f"{way}: {alone[way][-1]:,.0f} alone, {beside[way][-1]:,.0f} beside", file=sys.stderr, flush=True)
    found = {
        "wanted": WANTED,
        "tokens_per_second": {"alone": alone, "beside": beside},
        "kept": {way: median_ratio(beside[way], alone[way]) for way in WAYS},
        "of_default_alone": {way: median_ratio(alone[way], alone["default"]) for way in WAYS},
    }
    print(json.dumps(found, indent=2))
    write_json(RESULTS, found)


if __name__ == "__main__":
    main()
