"""Measure what validations, with their greedy translations, add to the time of a training on a CPU.

    python -m benchmarks.validation_cost [--arms transformer,rnn_luong,lm4mt] [--turns 3] [--data FOLDER]

Trains at the scale multi30k as it is, in single precision and, where the processor has instructions for it, in bf16.
Prints and writes to benchmarks/results/validation_cost.json the seconds of the validations' losses, of their
translations with BLEU and chrF, and of the updates. The median over turns of translations over updates should be at
most ``WANTED``. Arms that were measured before, with the same versions, stay. Nothing else may run on the machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from lightning.pytorch.callbacks import Callback

from benchmarks.setting import PRECISIONS
from benchmarks.watched import train_watched
from triptych.accounting.peaks import device_name
from triptych.runs.folder import write_json
from triptych.runs.versions import versions

RESULTS = Path(__file__).parent / "results" / "validation_cost.json"
WANTED = 0.03
"""Most seconds of translating for each second of updates."""


class ValidationClock(Callback):
    """Writes the seconds that losses, translations and updates took to a file when the training ends."""

    def __init__(self, path: str) -> None:
        self.path, self.seconds, self._last = Path(path), {"losses": 0.0, "translations": 0.0, "updates": 0.0}, 0.0

    def on_train_start(self, *_: Any) -> None:
        self._last = time.perf_counter()

    def on_validation_start(self, *_: Any) -> None:
        self._count("updates")

    def on_validation_batch_end(self, *_: Any) -> None:
        self._count("losses")

    def on_validation_end(self, *_: Any) -> None:
        self._count("translations")

    def on_train_end(self, *_: Any) -> None:
        self._count("updates")
        self.path.write_text(json.dumps(self.seconds))

    def _count(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] += now - self._last
        self._last = now


def seconds_of(arm: str, precision: str, *options: str) -> dict[str, float]:
    """Train an arm, and return the seconds that ``ValidationClock`` has counted.

    Raises:
        RuntimeError: it has failed.
    """
    given = [f"model={arm}", "scale=multi30k", f"strategy.precision={precision}"]
    return train_watched(ValidationClock, "benchmarks.validation_cost", *given, *options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", default="transformer,rnn_luong,lm4mt", help="models, by their names in conf/model")
    parser.add_argument("--turns", type=int, default=3, help="trainings of each arm (3)")
    parser.add_argument("--data", type=Path, help="folder of Multi30k's files; downloaded without it")
    arguments = parser.parse_args()
    if arguments.turns < 1:
        parser.error(f"--turns {arguments.turns} must be at least 1")
    options = [f"data.dir={arguments.data.resolve()}"] if arguments.data else []
    setting = {"device": device_name("cpu"), "versions": versions(), "wanted": WANTED}
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    found: dict[str, Any] = stored if setting.items() <= stored.items() else {**setting, "arms": {}}
    for arm in arguments.arms.split(","):
        for precision in PRECISIONS:
            turns = [seconds_of(arm, precision, *options) for _ in range(arguments.turns)]
            share = statistics.median(turn["translations"] / turn["updates"] for turn in turns)
            found["arms"][f"{arm} {precision}"] = {"turns": turns, "share": share}
            write_json(RESULTS, found)
            print(f"{arm} {precision}: {share:.1%} of the time of its updates", flush=True)


if __name__ == "__main__":
    main()
