"""Compare the losses of 300 steps of every architecture, by this code and by another checkout's.

    python -m benchmarks.curves OTHER [--output benchmarks/results/curves.csv]

A refactoring must leave them equal. OTHER is the folder of the other checkout. Training is chaotic and amplifies
rounding, so the settings keep rounding invisible for 300 steps:

- double precision and a moderate learning rate, on the built-in corpus;
- a smooth activation: ReLU's gradient jumps where rounding moves a unit over zero, which made the Transformer's curves
  differ by 6e-5;
- no dropout: checkouts may draw random numbers differently.

Writes one row per step, and prints the largest relative difference of each architecture. The logged losses are in
single precision, exact to 1e-7.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

from triptych.files import replacing

SMOOTH = "model.activation=gelu"
ARMS = {"rnn_bahdanau": [], "rnn_luong": [], "transformer": [SMOOTH], "lm4mt": [SMOOTH]}
STEPS = 300
ROUNDING = 1e-6
OPTIONS = [
    "loss=decayed",
    "scale=toy",
    "scale.learning_rate=1e-3",
    "scale.dropout=0",
    "strategy.precision=64-true",
    f"budget.steps={STEPS}",
    f"validation.every={STEPS}",
    "validation.bleu_every=2",
    "log_every=1",
    "data.test=10",
    "data.test_long=10",
]


def losses(checkout: Path, arm: str, folder: Path) -> pd.Series:
    """Train an arm with the code of a checkout, and return its training loss by step."""
    options = [f"model={arm}", *ARMS[arm], *OPTIONS, f"output={folder / arm}", f"cache={folder / 'cache'}"]
    environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, "-m", "triptych", "train", *options]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    (metrics,) = (folder / arm).glob("*/metrics.csv")
    return pd.read_csv(metrics).set_index("step")["train/loss"].dropna()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "curves.csv")
    arguments = parser.parse_args()
    checkouts = {"before": arguments.other.resolve(), "after": Path(__file__).resolve().parents[1]}
    curves, apart = {}, 0.0
    with tempfile.TemporaryDirectory() as temporary:
        for arm in ARMS:
            for name, checkout in checkouts.items():
                curves[f"{arm} {name}"] = losses(checkout, arm, Path(temporary) / name)
            before, after = curves[f"{arm} before"], curves[f"{arm} after"]
            difference = ((before - after).abs() / before).max()
            apart = max(apart, difference)
            print(f"{arm}: {len(before)} steps, {before.iloc[0]:.4f} to {before.iloc[-1]:.4f}, apart {difference:.1e}")
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with replacing(arguments.output) as beside:
        pd.DataFrame(curves).to_csv(beside, float_format="%.10g")
    if apart > ROUNDING:
        sys.exit(f"the curves differ by {apart:.1e}; rounding explains only {ROUNDING:.0e}.")


if __name__ == "__main__":
    main()
