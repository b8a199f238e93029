"""Seconds of training until BLEU passes 30, 40 and 45, beside JoeyNMT: `make bench-quality`.

    python -m benchmarks.quality [--arms transformer,rnn_luong] [--data FOLDER] [--work FOLDER]

Both programs train models of equal size on Multi30k, English to French, with the same pieces, optimizer, schedule,
dropout, loss and target tokens an update; ours in the precision that is faster here, JoeyNMT in fp32. BLEU is that of
greedy translations of the validation set (13a, cased). JoeyNMT trains once, to 40; ours twice before it and once after,
the last time to 45. Nothing else may run on the machine. Writes the page of machines like this one, quality_….md, and
its figures to benchmarks/results after each training; with the same code on the same machine, another call goes on
there.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import ours
from benchmarks.paced import Turn
from benchmarks.page import table
from benchmarks.setting import PEERS, PRECISIONS, RESULTS, Setting, machine, page_name, processor_of, use_all_cores
from benchmarks.training_clock import MARK
from triptych.files import replacing
from triptych.runs.folder import write_json

GOALS = (30.0, 40.0, 45.0)
TURNS = (("ours", 40.0), ("ours", 40.0), ("joeynmt", 40.0), ("ours", 45.0))
"""Who trains, one after the other, and to which BLEU."""
BATCH = "batch.tokens=2048"
"""Half as many padded tokens as JoeyNMT's batches have, which mix sentences of all lengths. Without padding, both have
some 1,900 target tokens."""
EVERY_UPDATES = 80
"""Updates of ours between two validations."""
EVERY_SECONDS = 240.0
"""Seconds of JoeyNMT's training between two validations."""
FIRST = Turn(untimed=0, least=10, seconds=20)
"""A short training in each precision. The faster one is then used."""
Curve = list[dict[str, float]]
"""Updates, seconds of training and BLEU of each validation."""


def follow(command: Sequence[str | Path], environment: Mapping[str, str]) -> Curve:
    """Run a training and return its curve.

    Raises:
        RuntimeError: it has failed.
    """
    curve, log = [], []
    given = os.environ | environment
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=given) as process:
        assert process.stdout is not None
        for line in process.stdout:
            log.append(line)
            _, mark, reached = line.partition(MARK)
            if mark:
                curve.append(json.loads(reached))
                print("  {updates:,} updates, {seconds:.0f} s: BLEU {bleu:.1f}".format(**curve[-1]), flush=True)
    if process.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {''.join(log)[-2000:]}")
    return curve


def seconds_to(goal: float, curve: Curve) -> float | None:
    """Return the seconds of training until BLEU passes a goal, None if it never does.

    Between the two validations around the goal, BLEU is taken to grow evenly; at the start it is 0.
    """
    before = {"seconds": 0.0, "bleu": 0.0}
    for reached in curve:
        if reached["bleu"] >= goal:
            share = (goal - before["bleu"]) / (reached["bleu"] - before["bleu"])
            return before["seconds"] + share * (reached["seconds"] - before["seconds"])
        before = reached
    return None


def fastest_precision(setting: Setting, arm: str) -> str:
    """Return the precision in which an arm trains fastest: not every CPU with instructions for bf16 gains by it."""
    speeds = {}
    for precision in PRECISIONS:
        output = setting.runs / "fastest" / precision / arm
        with ours.train_in_turns(arm, output, FIRST, BATCH, *setting.options(precision)) as worker:
            speeds[precision] = worker.turn()["tgt_tokens"]
    return max(speeds, key=speeds.__getitem__)


def train(setting: Setting, arm: str, precision: str, turn: int) -> Curve:
    """Train one program's model, whose turn it is, and return its curve."""
    program, goal = TURNS[turn]
    print(f"{arm}, {program}, to {goal:g}", flush=True)
    if program == "ours":
        output = setting.runs / f"quality-{turn}" / arm
        return follow(ours.train_until(arm, output, goal, EVERY_UPDATES, BATCH, *setting.options(precision)), {})
    return follow(*setting.joeynmt.train_until(arm, PEERS[arm], goal, EVERY_SECONDS))


def page(found: dict[str, Any]) -> str:
    """Return the page of Markdown."""
    speeds = f"{page_name(found['machine'])}.md"
    lines = [
        "# Time to quality on a CPU",
        "",
        f"{processor_of(found['machine'])}, {found['machine']['device']}, {found['machine']['capability']}; torch "
        f"{found['machine']['versions']['torch']}.",
        "",
        "Seconds of training until the greedy translations of Multi30k's validation set, English to French, pass a "
        "BLEU (13a, cased). The models, pieces, optimizer, schedule, dropout and loss are those of "
        f"[{speeds}]({speeds}). Ours has at most 2,048 padded tokens a side in a batch and JoeyNMT 4,096, so that an "
        "update of each has some 1,900 target tokens: JoeyNMT's batches hold more padding. The clock stands still "
        "while a model validates and is saved. JoeyNMT trained once, in fp32. Ours trained several times, in the "
        "precision that is faster here. The table has the median of these trainings, and in brackets the fastest and "
        "the slowest.",
        "",
    ]
    rows: list[list[str]] = []
    for arm, measured in found["arms"].items():
        curves = {
            program: [one["curve"] for one in measured["trainings"] if one["program"] == program]
            for program, _ in TURNS
        }
        for goal in GOALS:
            mine = [seconds for curve in curves["ours"] if (seconds := seconds_to(goal, curve)) is not None]
            theirs = next((seconds_to(goal, curve) for curve in curves["joeynmt"]), None)
            shown = f"{statistics.median(mine):,.0f} [{min(mine):,.0f}, {max(mine):,.0f}]" if mine else "not reached"
            peer = f"{theirs:,.0f}" if theirs is not None else ""
            ratio = f"{theirs / statistics.median(mine):.1f}" if mine and theirs is not None else ""
            rows.append([arm, measured["precision"], f"{goal:g}", shown, peer, ratio])
    lines += table(["model", "our precision", "BLEU", "ours, s", "JoeyNMT, s", "ratio"], rows)
    for arm, measured in found["arms"].items():
        lines += [f"## {arm}", "", "BLEU at each validation:", ""]
        for number, one in enumerate(measured["trainings"], 1):
            points = ", ".join(f"{point['seconds']:,.0f} s {point['bleu']:.1f}" for point in one["curve"])
            lines += [f"- training {number}, {one['program']}: {points}"]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", default="transformer,rnn_luong", help="models (transformer,rnn_luong)")
    parser.add_argument("--data", type=Path, help="folder of Multi30k's files; downloaded without it")
    parser.add_argument("--work", type=Path, default=Path("runs/bench"), help="keeps the peer's environment and runs")
    arguments = parser.parse_args()
    arms = arguments.arms.split(",")
    if unknown := [arm for arm in arms if arm not in PEERS]:
        parser.error(f"--arms has {', '.join(unknown)}; there are {', '.join(PEERS)}")
    use_all_cores()
    setting = Setting(arguments.work.resolve(), arguments.data)
    here = machine()
    stored = RESULTS / f"{page_name(here).replace('cpu', 'quality', 1)}.json"
    before = json.loads(stored.read_text()) if stored.exists() else {}
    # Arms of another machine or of other code do not stand in one table.
    found = before if before.get("machine") == here else {"machine": here, "arms": {}}
    for arm in arms:
        measured = found["arms"].get(arm) or {"precision": fastest_precision(setting, arm), "trainings": []}
        found["arms"][arm] = measured
        for turn in range(len(measured["trainings"]), len(TURNS)):
            curve = train(setting, arm, measured["precision"], turn)
            measured["trainings"].append({"program": TURNS[turn][0], "curve": curve})
            write_json(stored, found)
            with replacing(stored.with_suffix(".md")) as beside:
                beside.write_text(page(found), encoding="utf-8")
    print(page(found))


if __name__ == "__main__":
    main()
