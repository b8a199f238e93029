"""Training and decoding on a CPU, beside JoeyNMT and CTranslate2: `make bench`.

    python -m benchmarks.cpu [--data FOLDER] [--rounds 3] [--updates 40] [--parts …]

Whatever is compared takes turns, round by round, in trainings of as many updates, and medians are given. Models of 200
updates are compared in perplexity, and decode. Writes benchmarks/results/cpu.json and cpu.md; ``--work`` keeps the
peer's environment and the runs.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from hydra.utils import instantiate

from benchmarks import joeynmt, ours
from benchmarks.decoding import SEARCH
from benchmarks.page import PARTS, write_page
from triptych.accounting.peaks import device_name
from triptych.config.composition import compose_run
from triptych.data.corpus import Corpus
from triptych.kernels.matmul import CPUINFO
from triptych.kernels.precision import has_bf16
from triptych.runs.folder import write_json
from triptych.runs.run import Run, load
from triptych.runs.versions import versions
from triptych.training.build import prepare_text

RESULTS = Path(__file__).parent / "results"
PEERS: dict[str, dict[str, Any]] = {
    "transformer": joeynmt.transformer(),
    "rnn_luong": joeynmt.rnn("luong", input_feeding=False),
    "rnn_luong_feeding": joeynmt.rnn("luong", input_feeding=True),
    "rnn_bahdanau": joeynmt.rnn("bahdanau", input_feeding=False),
}
PRECISIONS = ("32-true", "bf16-mixed") if has_bf16() else ("32-true",)
"""Without instructions for bf16, a CPU takes several times as long with it."""
TEST = "test_2016_flickr"
LEARNED = 200
"""Updates of the models that are compared in perplexity, and decode."""
FEWEST = 30
"""Updates of a training whose speed is measured."""


class Bench:
    """The parts of the benchmark. Each returns its measurements.

    Args:
        work: for the peer's environment and the runs; runs that are there are of other code, and are removed.
        data: folder of Multi30k's files; None downloads them.
        rounds: turns that everything takes.
        updates: of a training whose speed is measured.
    """

    def __init__(self, work: Path, data: Path | None, rounds: int, updates: int) -> None:
        self.work, self.rounds, self.updates = work, rounds, updates
        self.runs = work / "benchmark-runs"
        shutil.rmtree(self.runs, ignore_errors=True)
        self.options = [f"cache={work / 'cache'}", *([] if data is None else [f"data.dir={data}"])]

    @cached_property
    def learned(self) -> dict[str, Path]:
        """The Transformer's run of each precision."""
        return {precision: self._learn("transformer", precision) for precision in PRECISIONS}

    @cached_property
    def run(self) -> Run:
        """The Transformer's run in the first precision, with its last weights."""
        return load(self.learned[PRECISIONS[0]], "last")

    @cached_property
    def corpus(self) -> Corpus:
        return instantiate(self.config.data, test=[TEST])  # trainings leave the test set out

    @cached_property
    def config(self) -> Any:
        return compose_run([*ours.COMMON, *ours.ARMS["transformer"], *self.options]).config

    @cached_property
    def joey(self) -> joeynmt.JoeyNMT:
        text = {"train": "train", "validation": "validation", "test": TEST}
        sides = {name: self.corpus.splits[split] for name, split in text.items()}
        tokenizer, _ = prepare_text(self.config, self.corpus)
        return joeynmt.JoeyNMT(self.work / "joeynmt", sides, tokenizer)

    def perplexity(self) -> dict[str, Any]:
        """Of the validation text, by the Transformers that have learned."""
        found = {precision: ours.perplexity(run) for precision, run in self.learned.items()}
        self.joey.train(PEERS["transformer"], LEARNED, keep=True)
        sources, targets = map(list, self.corpus.splits["validation"])
        found["joeynmt"] = self.joey.perplexity(self.learned[PRECISIONS[0]], (sources, targets))
        return {"updates": LEARNED, "perplexity": found}

    def train(self) -> dict[str, Any]:
        """Tokens a second of every arm, and of JoeyNMT's models of equal size."""
        found: dict[str, list[dict[str, float]]] = defaultdict(list)
        for turn in range(self.rounds):
            for arm in ours.ARMS:
                for precision in PRECISIONS:
                    run = self._train(arm, precision, self.updates, str(turn))
                    found[f"{arm} {precision}"].append(ours.speed(run))
                if arm in PEERS:
                    found[f"{arm} joeynmt"].append(self.joey.train(PEERS[arm], self.updates, keep=False))
        return {
            "rates": {name: _medians(readings) for name, readings in found.items()},
            "peaks": {precision: _best(found, precision) for precision in PRECISIONS},
            "updates": self.updates,
            "readings": found,
        }

    def decode(self) -> dict[str, Any]:
        """Sentences a second of every arm, and of CTranslate2 and JoeyNMT with the Transformer's weights, in fp32."""
        exported = self.runs / "ctranslate2"
        _python("triptych", "export", f"run={self.learned[PRECISIONS[0]]}", "checkpoint=last", f"output={exported}")
        folders = {"transformer": self.learned[PRECISIONS[0]]}
        folders |= {arm: self._learn(arm, PRECISIONS[-1]) for arm in ours.ARMS if arm not in folders}
        found: dict[str, list[float]] = defaultdict(list)
        for _ in range(self.rounds):
            for arm, run in folders.items():
                found[arm].append(_alone("ours", run, self.work))
            found["ctranslate2"].append(_alone("ctranslate2", exported, self.work))
            per_second, theirs = self.joey.translate(PEERS["transformer"], self.run.translator)
            found["joeynmt"].append(per_second)
        mine = self.run.translate(list(self.corpus.splits[TEST][0]), SEARCH)
        return {
            "sentences_per_second": {name: statistics.median(readings) for name, readings in found.items()},
            "translated_as_joeynmt": sum(a == b for a, b in zip(theirs, mine, strict=True)) / len(mine),
            "sentences": len(mine),
            "updates": LEARNED,
            "precision": PRECISIONS[-1],
            "beam_size": SEARCH.beam_size,
            "length_penalty": SEARCH.length_penalty,
            "readings": found,
        }

    def profile(self) -> dict[str, Any]:
        """Shares of a step's time by kind of work, in the fastest precision."""
        options = [*self.options, f"strategy.precision={PRECISIONS[-1]}"]
        shares = {arm: json.loads(_python("benchmarks.profiling", arm, *options)) for arm in ours.ARMS}
        return {"precision": PRECISIONS[-1], "shares": shares}

    def memory(self) -> dict[str, Any]:
        """Peak bytes of a step, by our loss and by one that keeps the logits."""
        return {
            arm: {loss: json.loads(_python("benchmarks.memory", arm, loss)) for loss in ("ours", "logits")}
            for arm in ("transformer", "lm4mt", "rnn_luong")
        }

    def _learn(self, arm: str, precision: str) -> Path:
        return self._train(arm, precision, LEARNED, "learned")

    def _train(self, arm: str, precision: str, updates: int, turn: str) -> Path:
        return ours.train(arm, self.runs / turn / precision / arm, updates, *self.training_options(precision))

    def fastest_precision(self, arm: str) -> str:
        """Return the precision in which an arm trains fastest: not every CPU with instructions for bf16 gains by it."""
        speeds = {precision: ours.speed(self._train(arm, precision, FEWEST, "fastest")) for precision in PRECISIONS}
        return max(speeds, key=lambda precision: speeds[precision]["tokens_per_second"])

    def training_options(self, precision: str) -> list[str]:
        """Return the overrides of a training beside those of its arm."""
        return [*self.options, "data.test=[]", f"strategy.precision={precision}"]


def _medians(readings: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(reading[key] for reading in readings) for key in readings[0]}


def _best(found: dict[str, list[dict[str, float]]], precision: str) -> float:
    """The peak of products, FLOP/s, that any process has measured: the others met a slower moment of the machine."""
    readings = [reading for name, of_one in found.items() if name.endswith(precision) for reading in of_one]
    return max(reading["peak_flops"] for reading in readings)


def _alone(engine: str, folder: Path, work: Path) -> float:
    """Sentences a second, in a process of its own."""
    return float(_python("benchmarks.decoding", engine, str(folder), str(work / "joeynmt" / "test")))


def _python(module: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{module} {' '.join(arguments)}: {done.stderr[-2000:]}")
    return done.stdout


def machine() -> dict[str, Any]:
    """What figures are of: those of one page are of one machine and of one code."""
    processors = re.findall(r"^model name\s*: (.*)", CPUINFO.read_text(), re.MULTILINE) if CPUINFO.exists() else []
    return {
        "device": device_name("cpu"),
        "processor": next(iter(processors), platform.processor()),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "versions": versions() | {"ctranslate2": version("ctranslate2")},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of Multi30k's files; downloaded without it")
    parser.add_argument("--work", type=Path, default=Path("runs/bench"), help="keeps the peer's environment and runs")
    parser.add_argument("--rounds", type=int, default=3, help="number of turns; their medians are reported (3)")
    parser.add_argument("--updates", type=int, default=40, help="of a training whose speed is measured (40)")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"what is measured ({', '.join(PARTS)})")
    arguments = parser.parse_args()
    parts = arguments.parts.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"--parts has {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if arguments.rounds < 1:
        parser.error(f"--rounds {arguments.rounds} is less than 1")
    if arguments.updates < FEWEST:
        parser.error(f"--updates {arguments.updates} is too few: of {FEWEST}, logged by tens, the first ten warm up")
    bench = Bench(arguments.work.resolve(), arguments.data, arguments.rounds, arguments.updates)
    path = RESULTS / "cpu.json"
    here = machine()
    before = json.loads(path.read_text()) if path.exists() else {}
    # Parts of other code than this package's, or of another machine, do not stand on one page.
    found: dict[str, Any] = before if before.get("machine") == here else {"machine": here}
    for part in parts:
        began = time.perf_counter()
        found[part] = getattr(bench, part)()
        print(f"{part}: {time.perf_counter() - began:.0f} s", flush=True)
        RESULTS.mkdir(exist_ok=True)
        write_json(path, found)
    print(write_page(found, RESULTS / "cpu.md"))


if __name__ == "__main__":
    main()
