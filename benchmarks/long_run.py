"""Measure how the memory of a long training on a CPU grows.

    python -m benchmarks.long_run [--arms transformer,lm4mt,rnn_luong] [--updates 2000] [--data FOLDER]

Trains at the scale of the converged runs, with validations and their translations, in single precision and, where the
processor has instructions for it, in bf16. Prints and writes to benchmarks/results/long_run.json the resident memory
after every ``EVERY`` updates, and the growth: the last of these divided by the first, which should be at most
``WANTED``. The first is read before the first validation. Speed plays no part, so other work may run beside it. Linux
only.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from lightning.pytorch.callbacks import Callback

from benchmarks.setting import PRECISIONS
from benchmarks.watched import train_watched
from triptych.accounting.peaks import device_name
from triptych.runs.folder import write_json
from triptych.runs.versions import versions

RESULTS = Path(__file__).parent / "results" / "long_run.json"
EVERY = 200
"""Updates between two readings."""
WANTED = 1.1
"""Most times the memory of the first reading that a training may have at its end."""


class ResidentMemory(Callback):
    """Writes the bytes that the process has in memory after every ``EVERY`` updates to a file, as a list."""

    def __init__(self, path: str) -> None:
        self.path, self.readings = Path(path), list[int]()

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        if trainer.global_step % EVERY == 0:
            status = Path("/proc/self/status").read_text()
            self.readings.append(1024 * int(re.findall(r"^VmRSS:\s*(\d+)", status, re.MULTILINE)[0]))
            self.path.write_text(json.dumps(self.readings))


def readings(arm: str, precision: str, updates: int, *options: str) -> list[int]:
    """Train an arm, and return its readings.

    Raises:
        RuntimeError: it has failed.
    """
    given = [f"model={arm}", "scale=multi30k_converged", "budget.epochs=null", f"budget.steps={updates}"]
    given += [f"strategy.precision={precision}", "validation.bleu_every=1", "checkpoint.average=1"]
    return train_watched(ResidentMemory, "benchmarks.long_run", *given, *options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", default="transformer,lm4mt,rnn_luong", help="models, by their names in conf/model")
    parser.add_argument("--updates", type=int, default=2000, help="of each training (2000)")
    parser.add_argument("--data", type=Path, help="folder of Multi30k's files; downloaded without it")
    arguments = parser.parse_args()
    if arguments.updates < 2 * EVERY or arguments.updates % EVERY:
        parser.error(f"--updates {arguments.updates} must be a multiple of {EVERY}, and more than one")
    options = [f"data.dir={arguments.data.resolve()}"] if arguments.data else []
    found: dict[str, Any] = {"device": device_name("cpu"), "versions": versions(), "wanted": WANTED, "arms": {}}
    for arm in arguments.arms.split(","):
        for precision in PRECISIONS:
            bytes_of = readings(arm, precision, arguments.updates, *options)
            found["arms"][f"{arm} {precision}"] = {"bytes": bytes_of, "growth": bytes_of[-1] / bytes_of[0]}
            write_json(RESULTS, found)
            print(f"{arm} {precision}: {bytes_of[0] / 2**20:.0f} MiB, then {bytes_of[-1] / bytes_of[0]:.3f} times that")


if __name__ == "__main__":
    main()
