"""Runs and sweeps as the report finds them, written by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import yaml

from triptych.evaluation.metrics import corpus_scores
from triptych.reports.rows import Row, read_rows
from triptych.reports.stored_runs import find_runs
from triptych.reports.study import find_study
from triptych.sweeps.arms import read_arms

REFERENCES = [f"the {a} {n} sees a {b} house near the {c} river ." for a, n, b, c in zip(
    ("old", "young", "tall", "small", "blue", "sad") * 5,
    ("man", "woman", "dog", "cat", "child") * 6,
    ("red", "green", "white") * 10,
    ("long", "wide") * 15,
    strict=True,
)]  # fmt: skip

NODE = {"name": "table3", "reference": "base", "varies": [], "deviations": ["3 + 3 layers of 192", "1,000 steps"]}


def spoilt(share: float, seed: int = 0) -> list[str]:
    """The references with a share of their words replaced, others for each seed."""
    random = Random(f"{share} {seed}")
    return [" ".join("wrong" if random.random() < share else word for word in line.split()) for line in REFERENCES]


def make_run(
    root: Path,
    name: str,
    seed: int = 1,
    tests: dict[str, Any] | None = None,
    lines: list[str] | None = None,
    study: dict[str, Any] | None = None,
    **train: Any,
) -> Path:
    """A finished run: scored as ``tests`` says, or of its ``lines``, which are then stored with it."""
    folder = root / name
    folder.mkdir(parents=True)
    overrides = sorted(part for part in name[:-9].split(",") if not part.startswith("seed="))
    config = {"seed": seed, "output": str(root), "run_dir": str(folder), "data": {"seed": seed}, "recipe": overrides}
    (folder / "config.yaml").write_text(yaml.safe_dump(config | {"study": study}))
    if lines is not None:
        write_translations(folder, lines, REFERENCES)
        tests = {"toy": scores(**corpus_scores(lines, REFERENCES))}
    result = {
        "run": name,
        "config_hash": "0123abcd",
        "version": "0.1.0",
        "seed": seed,
        "model": {"name": "rnn", "parameters": 2_000_000, "parameters_non_embedding": 1_500_000},
        "data": {"name": "toy", "fingerprint": "data-print", "token_stream": f"stream of {seed}"}
        | {"token_stream_after": {"1": f"beginning of {seed}"}},
        "tokenizer": {"name": "spm", "fingerprint": "tokenizer-print", "vocab_size": 100},
        "train": {"steps": 100, "tokens_src": 3e6, "tokens_tgt": 4e6, "flops": 5.25e15, "flops_6nd": 6e15}
        | {"seconds": 90.0, "tokens_per_second": 1000.0, "device": "cpu", "peak_flops": 2e12, "mfu": 0.25}
        | {"peak_memory_bytes": 3e9}
        | train,
        "validation": {"loss": 1.5, "perplexity": 4.48},
        "test": tests or {"toy": scores()},
    }
    (folder / "result.json").write_text(json.dumps(result))
    return folder


def scores(bleu: float = 30.0, **other: Any) -> dict[str, Any]:
    return {
        "bleu": bleu,
        "bleu_signature": "tok:13a",
        "chrf": 55.5,
        "chrf_signature": "nc:6",
        "sentence_bleu_pieces": 41.25,
        "sentences": 30,
        "seconds": 1.0,
        "beam_size": 4,
        "length_penalty": 0.6,
    } | other


def change(folder: Path, *keys: str, to: Any) -> None:
    """Sets one entry of a run's ``result.json``."""
    result = json.loads((folder / "result.json").read_text())
    place = result
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = to
    (folder / "result.json").write_text(json.dumps(result))


def write_translations(folder: Path, hypotheses: list[str], references: list[str]) -> None:
    (folder / "translations").mkdir()
    (folder / "translations" / "toy.txt").write_text("".join(f"{line}\n" for line in hypotheses))
    (folder / "translations" / "toy.ref.txt").write_text("".join(f"{line}\n" for line in references))


def make_unfinished(root: Path, name: str) -> None:
    (root / name).mkdir(parents=True)
    (root / name / "config.yaml").write_text("seed: 7\n")


def make_arm(
    root: Path,
    place: int,
    *overrides: str,
    run: str | None = None,
    status: str = "finished",
    reason: str | None = None,
    study: str | None = "table3",
) -> None:
    (root / "arms").mkdir(parents=True, exist_ok=True)
    arm = {"study": study, "place": place, "overrides": overrides, "run": run, "status": status, "reason": reason}
    (root / "arms" / f"{place:03}-0123abcd.json").write_text(json.dumps(arm))


def arm_overrides(arm: str, seed: int = 1) -> list[str]:
    return ["experiment=table3", "scale=smoke", f"arm=table3/{arm}", f"seed={seed}"]


def arm_run(arm: str, seed: int = 1) -> str:
    return f"experiment=table3,scale=smoke,arm={arm},seed={seed}-0000000{seed}"


def add_arm(root: Path, place: int, arm: str, seed: int = 1, node: dict[str, Any] = NODE, **made: Any) -> Path:
    """A finished arm with its run."""
    run = arm_run(arm, seed)
    make_arm(root, place, *arm_overrides(arm, seed), run=run)
    return make_run(root, run, seed=seed, study=node, **made)


def rows_of(root: Path) -> list[Row]:
    arms, runs = read_arms(root), find_runs(root)
    return read_rows(root, arms, runs, find_study(root, arms, runs).reference)


class Resources(HTMLParser):
    """Collects what a page would load, where its links lead, its anchors, and the text of its cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.anchors: list[str] = []
        self.scripts = 0
        self.bold: list[str] = []
        self.words: list[str] = []
        self.linked: list[tuple[str, str]] = []
        self._open: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.scripts += tag == "script"
        self.loaded += [str(values[key]) for key in ("src", "srcset", "data") if key in values]
        if "href" in values:
            (self.links if tag == "a" else self.loaded).append(str(values["href"]))
        if tag == "tr" and "id" in values:
            self.anchors.append(str(values["id"]))
        if tag in ("a", "b"):
            self._open.append((tag, str(values.get("href"))))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("a", "b"):
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self.cdata_elem is None and (word := data.strip()):
            self.words.append(word)
            self.linked += [(word, href) for tag, href in self._open if tag == "a"]
            self.bold += [word for tag, _ in self._open if tag == "b"]
