"""Training and decoding on a CPU, beside JoeyNMT and CTranslate2: `make bench`, or `make bench-quick`.

    python -m benchmarks.cpu [--quick] [--parts …] [--data FOLDER] [--work FOLDER]

Processes that stay warm take turns of some seconds, and a ratio is the mean over turns, with its interval. Nothing else
may run on the machine. Writes the page of machines like this one to benchmarks/results after each part, which is the
training of a model, decoding, or the profile; ``--quick`` has fewer models and turns, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sacrebleu

from benchmarks import joeynmt, ours
from benchmarks.decoding import SEARCH, ctranslate2
from benchmarks.paced import Reading, Turn, Worker, take_turns
from benchmarks.page import page
from benchmarks.processes import module, run
from benchmarks.ratios import ratio_of
from benchmarks.setting import IN_BF16, PEERS, PRECISIONS, RESULTS, Setting, machine, page_name, use_all_cores
from triptych.files import replacing
from triptych.kernels.precision import has_bf16
from triptych.runs.folder import write_json
from triptych.runs.run import load

UNTIMED = 1
"""Updates that begin a turn. While a process waits, the system may take memory that it has freed: they are slower."""


@dataclass(frozen=True)
class Plan:
    """What is measured, and for how long."""

    trained: tuple[str, ...]
    """Arms that train, each in turns with JoeyNMT's model of its size, or with the first arm if there is none."""
    decoded: tuple[str, ...]
    """Arms that translate. JoeyNMT and CTranslate2 have the weights of the first one."""
    training: Turn
    """How long a turn of a training is."""
    alone: Turn
    """How long a turn of JoeyNMT is where it trains alone, as installed."""
    turns: int
    """How many turns a training has, at least."""
    most: int
    """How many turns a training has if the ratios' intervals are still wide."""
    updates: int
    """How many updates the models that translate have learned from."""
    decoding_turns: int
    """How many turns a decoder has, at least."""
    most_decoding_turns: int
    """How many it has if the ratios' intervals are still wide. In a turn, JoeyNMT translates 64 of 1,000 sentences."""

    @property
    def parts(self) -> tuple[str, ...]:
        """What is measured one after the other: the training of each arm, decoding, and where a step's time goes."""
        return *self.trained, "decode", "profile"


WHOLE = Plan(
    trained=("transformer", "lm4mt", "rnn_luong", "rnn_bahdanau"),
    decoded=("transformer", "lm4mt"),
    training=Turn(UNTIMED, least=3, seconds=3),
    alone=Turn(UNTIMED, least=10, seconds=15),
    turns=15,
    most=60,
    updates=300,
    decoding_turns=16,
    most_decoding_turns=31,
)
QUICK = Plan(
    trained=("transformer", "rnn_luong"),
    decoded=("transformer",),
    training=Turn(UNTIMED, least=1, seconds=1),
    alone=Turn(UNTIMED, least=3, seconds=3),
    turns=6,
    most=6,
    updates=200,
    decoding_turns=4,
    most_decoding_turns=4,
)
TURNS_ALONE = 3
DECODING = Turn(untimed=0, least=1, seconds=0)
"""Half the test set; of JoeyNMT, a batch."""
Readings = dict[str, list[Reading]]


class Bench:
    """Measures the parts of a plan."""

    def __init__(self, setting: Setting, plan: Plan) -> None:
        self.setting, self.plan = setting, plan

    def measure(self, part: str) -> dict[str, Any]:
        """Return the measurements of a part, by its name in the plan."""
        others = {"decode": self.decode, "profile": self.profile}
        return others[part]() if part in others else self.train(part)

    def train(self, arm: str) -> dict[str, Any]:
        """Tokens a second of an arm in each precision, and of what it takes turns with."""
        arms = [arm] if arm in PEERS else [self.plan.trained[0], arm]
        alone = {"alone": self._peer_alone(arm)} if arm in PEERS else {}
        with ExitStack() as stack:
            workers = {
                f"{name} {precision}": stack.enter_context(self._training(arm, name, precision))
                for name in arms
                for precision in PRECISIONS
            }
            mine = list(workers)
            models: dict[str, dict[str, float]] = {}
            compared = [(f"{arm} {precision}", f"{arms[0]} {precision}") for precision in PRECISIONS]
            if arm in PEERS:
                name, peer = f"{arm} joeynmt", self.setting.joeynmt
                joey = peer.train(arm, PEERS[arm], self.plan.training, joeynmt.KEEP_MEMORY)
                workers[name] = stack.enter_context(joey)
                models[name] = {"parameters": joeynmt.parameters(joey.log)}
                compared = [(name, other) for other in mine]
            narrow = settled(compared, "tgt_tokens")
            readings = take_turns(workers, self.plan.turns, self.plan.most, narrow)
            models |= {name: self._finish(arm, name, workers[name]) for name in mine}
        return {"models": models, "readings": readings, **alone, **self.plan.training._asdict()}

    def _peer_alone(self, arm: str) -> list[Reading]:
        """Let JoeyNMT train as installed, while no other process waits."""
        with self.setting.joeynmt.train(arm, PEERS[arm], self.plan.alone, {}) as worker:
            return [worker.turn() for _ in range(TURNS_ALONE)]

    def decode(self) -> dict[str, Any]:
        """Sentences a second of the arms in fp32, and with the first one's weights of ours in bf16 and of the peers."""
        first, arms = self.plan.decoded[0], self.plan.decoded
        with ThreadPoolExecutor() as pool:
            runs = dict(zip(arms, pool.map(self._learned, arms), strict=True))
        trained, peer, exported = load(runs[first], "last"), self.setting.joeynmt, self.setting.runs / "ctranslate2"
        run(module("triptych", "export", f"run={runs[first]}", "checkpoint=last", f"output={exported}"))
        text = str(peer.work / f"test.{peer.languages[0]}")
        decoders = {arm: ("full", folder) for arm, folder in runs.items()}
        if has_bf16():
            decoders[f"{first} {IN_BF16}"] = IN_BF16, runs[first]
        decoders["ctranslate2"] = "ctranslate2", exported
        with ExitStack() as stack:
            workers = {
                name: stack.enter_context(Worker(module("benchmarks.decoding", decoder, str(folder), text), DECODING))
                for name, (decoder, folder) in decoders.items()
            }
            turns, most = self.plan.decoding_turns, self.plan.most_decoding_turns
            joey = peer.translate(PEERS[first], trained.translator.model.state_dict(), DECODING, most)
            workers["joeynmt"] = stack.enter_context(joey)
            narrow = settled([(first, name) for name in workers if name != first], "sentences")
            readings = take_turns(workers, turns, most, narrow)
            joey.finish()
        lines, references = map(list, zip(*self.setting.test_pairs, strict=True))
        best = trained.translator.best(lines, SEARCH)
        mine = [translation.text for translation in best]
        others = {"joeynmt": peer.translations(), "ctranslate2": ctranslate2(exported)(lines)}
        if has_bf16():
            others[IN_BF16] = load(runs[first], "last", precision=IN_BF16).translate(lines, SEARCH)
        return {
            "readings": readings,
            "most_turns": most,
            "same_translations": {
                name: sum(a == b for a, b in zip(found, mine, strict=True)) / len(mine)
                for name, found in others.items()
            },
            "words": sum(len(line.split()) for line in mine) / len(mine),
            "cut": sum(translation.cut for translation in best),
            "bleu": sacrebleu.corpus_bleu(mine, [references]).score,
            **({"bleu_in_bf16": sacrebleu.corpus_bleu(others[IN_BF16], [references]).score} if has_bf16() else {}),
            "sentences": len(mine),
            "updates": self.plan.updates,
            "beam_size": SEARCH.beam_size,
            "length_penalty": SEARCH.length_penalty,
            "stop": SEARCH.stop,
        }

    def profile(self) -> dict[str, Any]:
        """Shares of a step's time by kind of work, in the last precision."""
        options = self.setting.options(PRECISIONS[-1])
        shares = {arm: json.loads(run(module("benchmarks.profiling", arm, *options))) for arm in self.plan.trained}
        return {"precision": PRECISIONS[-1], "shares": shares}

    def _training(self, part: str, arm: str, precision: str) -> Worker:
        output = self._output(part, arm, precision)
        return ours.train_in_turns(arm, output, self.plan.training, *self.setting.options(precision))

    def _learned(self, arm: str) -> Path:
        """Train an arm in small batches until it has learned when a translation ends, and return its run's folder.

        It has one thread, beside those of other arms.
        """
        output, precision = self.setting.runs / "learned" / arm, PRECISIONS[-1]
        run(ours.train_for(arm, output, self.plan.updates, *self.setting.options(precision)), OMP_NUM_THREADS="1")
        return ours.finished(output)[0]

    def _finish(self, part: str, name: str, worker: Worker) -> dict[str, float]:
        """Let a training end, and return what its run says of its model and of the machine."""
        arm, precision = name.split()
        worker.finish()
        _, result = ours.finished(self._output(part, arm, precision))
        trained = result["train"]
        return {
            "parameters": result["model"]["parameters"],
            "flops_a_token": trained["flops"] / (trained["tokens_src"] + trained["tokens_tgt"]),
            "peak_flops": trained["peak_flops"],
            "peak_memory_bytes": trained["peak_memory_bytes"],
        }

    def _output(self, part: str, arm: str, precision: str) -> Path:
        """Return the folder of a training. Each part has its own: a run that is finished would not train again."""
        return self.setting.runs / part / precision / arm


def settled(compared: Sequence[tuple[str, str]], key: str) -> Callable[[Readings], bool]:
    """Return the rule that ends the turns: the intervals of all ratios are narrow.

    Args:
        compared: two workers of each ratio, by name.
        key: figure of the readings that is compared.
    """

    def are_narrow(readings: Readings) -> bool:
        return all(ratio_of(readings, *pair, key).is_settled for pair in compared)

    return are_narrow


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer models and turns; nothing is written")
    parser.add_argument("--parts", help="what is measured: names of models, decode, profile; all without it")
    parser.add_argument("--data", type=Path, help="folder of Multi30k's files; downloaded without it")
    parser.add_argument("--work", type=Path, default=Path("runs/bench"), help="keeps the peer's environment and runs")
    arguments = parser.parse_args()
    plan = QUICK if arguments.quick else WHOLE
    parts = arguments.parts.split(",") if arguments.parts else plan.parts
    if unknown := [part for part in parts if part not in plan.parts]:
        parser.error(f"--parts has {', '.join(unknown)}; there are {', '.join(plan.parts)}")
    here = machine()
    path = RESULTS / f"{page_name(here)}.json"
    before = json.loads(path.read_text()) if path.exists() and not arguments.quick else {}
    found: dict[str, Any] = before if before.get("machine") == here else {"machine": here, "minutes": {}, "parts": {}}
    if missing := [part for part in before.get("parts", {}) if part not in (*found["parts"], *parts)]:
        parser.error(f"{path} has figures of other code or another machine; measure {','.join(missing)} with the rest")
    use_all_cores()
    bench = Bench(Setting(arguments.work.resolve(), arguments.data), plan)
    for part in parts:
        began = time.perf_counter()
        found["parts"][part] = bench.measure(part)
        found["minutes"][part] = (time.perf_counter() - began) / 60
        print(f"{part}: {found['minutes'][part]:.1f} minutes", flush=True)
        if not arguments.quick:
            write_json(path, found)
            with replacing(path.with_suffix(".md")) as beside:
                beside.write_text(page(found), encoding="utf-8")
    print(page(found))


if __name__ == "__main__":
    main()
