"""Training and decoding on a CPU, beside JoeyNMT and CTranslate2: `make bench`.

    python -m benchmarks.cpu [--data FOLDER] [--rounds 3] [--updates 60] [--parts train,decode,profile,memory,quality]

Whatever is compared takes turns, round by round, and medians are given. Writes benchmarks/results/cpu.json and cpu.md;
``--work`` keeps environments and runs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks import joeynmt, ours
from benchmarks.page import write_page
from triptych import accounting
from triptych.translator import load

RESULTS = Path(__file__).parent / "results"
PEERS: dict[str, dict[str, Any]] = {
    "transformer": joeynmt.transformer(),
    "rnn_luong": joeynmt.rnn("luong", input_feeding=False),
    "rnn_luong_feeding": joeynmt.rnn("luong", input_feeding=True),
    "rnn_bahdanau": joeynmt.rnn("bahdanau", input_feeding=False),
}
PRECISIONS = ("32-true", "bf16-mixed") if torch.ops.mkldnn._is_mkldnn_bf16_supported() else ("32-true",)
"""Without instructions for bf16, a CPU takes several times as long with it."""
TEST = "test_2016_flickr"


class Bench:
    """The parts, each of which returns what it measured."""

    def __init__(self, work: Path, data: Path | None, rounds: int, updates: int) -> None:
        self.work, self.rounds, self.updates = work, rounds, updates
        self.options = ours.options_of(data, work / "cache")
        self.reference = ours.train("transformer", work / "reference", 300, *self.options)
        self.translator = load(self.reference)
        corpus = ours.corpus_of(self.translator)
        text = {split: corpus.splits[split] for split in ("train", "validation")}
        self.test = list(corpus.splits[TEST][0])
        self.joey = joeynmt.JoeyNMT(work / "joeynmt", {**text, "test": corpus.splits[TEST]}, self.translator.tokenizer)

    def train(self) -> dict[str, Any]:
        """Target tokens a second of every arm in both precisions, and of JoeyNMT's models of equal size."""
        found: dict[str, list[dict[str, float]]] = defaultdict(list)
        for turn in range(self.rounds):
            for arm in ours.ARMS:
                for precision in PRECISIONS:
                    folder = self.work / "train" / f"{turn}" / precision
                    options = [*self.options, "data.test=[]", f"strategy.precision={precision}"]
                    run = ours.train(arm, folder, self.updates, *options)
                    found[f"{arm} {precision}"].append(ours.speed(run))
                if arm in PEERS:
                    found[f"{arm} joeynmt"].append(self.joey.train(PEERS[arm], self.updates, validate=False))
        return {name: _medians(readings) for name, readings in found.items()}

    def decode(self) -> dict[str, Any]:
        """Sentences a second of every arm, of CTranslate2 and of JoeyNMT on the same weights; beam 4."""
        exported = self.work / "ctranslate2"
        if not exported.exists():
            _triptych("export", f"run={self.reference}", f"output={exported}")
        runs = {arm: ours.train(arm, self.work / "reference", 300, *self.options) for arm in ours.ARMS}
        found: dict[str, list[float]] = defaultdict(list)
        same = 0.0
        for _ in range(self.rounds):
            for arm, run in runs.items():
                found[arm].append(_alone("ours", run, self.work))
            found["ctranslate2"].append(_alone("ctranslate2", exported, self.work))
            per_second, lines = self.joey.translate(PEERS["transformer"], self.translator)
            found["joeynmt"].append(per_second)
            mine = self.translator.translate(self.test)
            same = sum(a == b for a, b in zip(lines, mine, strict=True)) / len(mine)
        rates = {name: statistics.median(readings) for name, readings in found.items()}
        return {"sentences_per_second": rates, "translated_as_joeynmt": same, "readings": found}

    def quality(self) -> dict[str, Any]:
        """Validation perplexity after 200 updates."""
        found = {}
        for precision in PRECISIONS:
            options = [*self.options, "data.test=[]", f"strategy.precision={precision}"]
            found[precision] = ours.speed(ours.train("transformer", self.work / precision, 200, *options))["perplexity"]
        peer = self.joey.train(PEERS["transformer"], 200, validate=True)
        return {**found, "joeynmt": peer["perplexity"]}

    def profile(self) -> dict[str, Any]:
        """Shares of a step's time by kind of work."""
        return {arm: json.loads(_python("benchmarks.profiling", arm, *self.options)) for arm in ours.ARMS}

    def memory(self) -> dict[str, Any]:
        """Peak bytes of a step with 25,000 target tokens and 32,000 pieces: our loss, and one that keeps the logits."""
        return {
            arm: {loss: int(_python("benchmarks.memory", arm, loss)) for loss in ("ours", "logits")}
            for arm in ("transformer", "lm4mt", "rnn_luong")
        }


def _medians(readings: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(reading[key] for reading in readings) for key in readings[0]}


def _alone(engine: str, folder: Path, work: Path) -> float:
    """Sentences a second, in a process of its own."""
    return float(_python("benchmarks.decoding", engine, str(folder), str(work / "joeynmt" / "test")))


def _python(module: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{module} {' '.join(arguments)}: {done.stderr[-2000:]}")
    return done.stdout


def _triptych(*arguments: str) -> str:
    return _python("triptych", *arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of Multi30k's files; downloaded without it")
    parser.add_argument("--work", type=Path, default=Path("runs/bench"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--parts", default="train,decode,profile,memory,quality")
    arguments = parser.parse_args()
    bench = Bench(arguments.work.resolve(), arguments.data, arguments.rounds, arguments.updates)
    path = RESULTS / "cpu.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    found["machine"] = {"device": accounting.device_name("cpu"), "peak": accounting.peak_flops("cpu")}
    for part in arguments.parts.split(","):
        measure: Callable[[], dict[str, Any]] = getattr(bench, part)
        began = time.perf_counter()
        found[part] = measure()
        print(f"{part}: {time.perf_counter() - began:.0f} s", flush=True)
        RESULTS.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, indent=2) + "\n")
    print(write_page(found, RESULTS / "cpu.md"))


if __name__ == "__main__":
    main()
