"""Compare a sweep whose arms run side by side with the same sweep one arm after the other.

    python -m benchmarks.sweeps [--short] [--turns 3] [--data FOLDER]

Four arms, seeds of the Transformer, at the toy scale and at that of the converged runs (``RECIPES``). Both ways take
turns. Prints and writes to benchmarks/results/sweeps.json the seconds of each sweep and the median of the ratios, one
after the other over side by side. On two cores it should be at least ``WANTED``. ``--short`` trains two arms for fewer
steps; starting the processes then takes a larger share of the time.

What limits the ratio is how well one arm uses all cores. Side by side, n arms on n cores train for at least as long as
one arm alone on one core, t(1); one after the other they train for n times as long as one arm on all cores, t(n). So
beside starting and scoring, the ratio is at most n t(n) / t(1): ``most``, from arms that are trained alone.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from triptych.accounting.threads import available_cores
from triptych.kernels.precision import has_bf16
from triptych.runs.folder import write_json

RESULTS = Path(__file__).parent / "results" / "sweeps.json"
WANTED = 1.6
"""Least ratio of the times on two cores."""
RECIPES = {
    "toy": (["scale=toy", "data.test=100", "data.test_long=100"], 840, 200),
    "multi30k_converged": (
        # So few steps teach no model to end a translation: validation would translate for longer than a real one.
        [
            *("scale=multi30k_converged", "budget.epochs=null", "validation.bleu_every=2", "test=false"),
            *("search.length_penalty=0.6", "checkpoint.average=1"),
        ],
        60,
        20,
    ),
}
"""Overrides of each recipe, and its optimizer steps, also in the short form."""
PRECISION = {"toy": "32-true", "multi30k_converged": "bf16-mixed" if has_bf16() else "32-true"}
"""Precision of each recipe; a processor without instructions for bf16 trains in single precision."""


def seconds_of_sweep(overrides: list[str], jobs: str, folder: Path) -> float:
    """Return the seconds that a sweep takes from its start to its end, in an output folder of its own.

    Raises:
        RuntimeError: an arm has failed.
    """
    command = [sys.executable, "-m", "triptych", "train", "-m", *overrides, f"jobs={jobs}"]
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=folder) as output:
        done = subprocess.run([*command, f"output={output}"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return time.perf_counter() - start


def seconds_of_training(overrides: list[str], cores: int, folder: Path) -> float:
    """Return the seconds that one arm trains, alone on so many cores, without starting and scoring.

    Raises:
        RuntimeError: it has failed.
    """
    allowed = sorted(os.sched_getaffinity(0))[:cores]
    with tempfile.TemporaryDirectory(dir=folder) as output:
        command = [sys.executable, "-m", "triptych", "train", *overrides, f"output={output}", "name=alone"]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: os.sched_setaffinity(0, allowed),
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
        return float(json.loads((Path(output) / "alone" / "result.json").read_text())["train"]["seconds"])


def compare(recipe: str, turns: int, short: bool, options: list[str], folder: Path) -> dict[str, Any]:
    """Run the sweep of a recipe both ways in turns; the first of all, which prepares the text, does not count."""
    overrides, steps, few = RECIPES[recipe]
    steps = few if short else steps
    seeds = "seed=1,2" if short else "seed=1,2,3,4"
    precision = f"strategy.precision={PRECISION[recipe]}"
    common = [*overrides, *options, precision, "model=transformer", f"cache={folder / 'cache'}"]
    seconds_of_sweep([*common, "seed=1", "budget.steps=2", "validation.every=2"], "1", folder)
    given = [*common, f"budget.steps={steps}", f"validation.every={steps}"]
    found: dict[str, list[float]] = {"1": [], "auto": []}
    cores = available_cores()
    alone: dict[int, list[float]] = {1: [], cores: []}
    for _ in range(turns):
        for jobs, seconds in found.items():
            seconds.append(seconds_of_sweep([*given, seeds], jobs, folder))
            print(f"{recipe}, jobs={jobs}: {seconds[-1]:.0f} s", file=sys.stderr, flush=True)
        for number, seconds in alone.items():
            seconds.append(seconds_of_training([*given, "seed=1"], number, folder))
            print(f"{recipe}, one arm on {number} cores: {seconds[-1]:.0f} s", file=sys.stderr, flush=True)
    ratios = [one / side for one, side in zip(found["1"], found["auto"], strict=True)]
    most = [cores * many / one for one, many in zip(alone[1], alone[cores], strict=True)]
    sizes = {"steps": steps, "arms": len(seeds.split(",")), "precision": PRECISION[recipe]}
    return {
        **sizes,
        "seconds": found,
        "ratio": statistics.median(ratios),
        "training_alone": alone,
        "most": statistics.median(most),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare jobs=auto with jobs=1.")
    parser.add_argument("--short", action="store_true", help="two arms and fewer steps; nothing is written")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--recipe", choices=RECIPES, help="one recipe; figures of others stay (default: all of them)")
    parser.add_argument("--data", help="folder of Multi30k (default: it is downloaded)")
    arguments = parser.parse_args()
    setting = {"cores": available_cores(), "wanted": WANTED}
    stored = json.loads(RESULTS.read_text()) if arguments.recipe and RESULTS.exists() else {}
    found: dict[str, Any] = stored if setting.items() <= stored.items() else dict(setting)
    with tempfile.TemporaryDirectory() as folder:
        for recipe in [arguments.recipe] if arguments.recipe else RECIPES:
            options = [f"data.dir={arguments.data}"] if arguments.data and "multi30k" in recipe else []
            found[recipe] = compare(recipe, arguments.turns, arguments.short, options, Path(folder))
    print(json.dumps(found, indent=2))
    if not arguments.short:
        write_json(RESULTS, found)


if __name__ == "__main__":
    main()
