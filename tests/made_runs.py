"""Runs, sweeps and archives as the report finds them, written by hand."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import yaml

from triptych.evaluation.mean_nats import mean_nats
from triptych.evaluation.metrics import score_corpus, standard_metrics
from triptych.reports.arm_rows import ArmRow, build_rows
from triptych.reports.reader import find_arms, find_runs
from triptych.reports.stored_run import StoredRun, TranslatedText
from triptych.reports.study import find_study
from triptych.runs.folder import FORMAT

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
    given: str,
    seed: int = 1,
    tests: dict[str, Any] | None = None,
    lines: list[str] | None = None,
    study: dict[str, Any] | None = None,
    overrides: Sequence[str] = (),
    sources: list[str] | None = None,
    nats: list[float] | None = None,
    **train: Any,
) -> Path:
    """Write a finished run and return its folder.

    Args:
        root: the folder of the runs.
        given: the overrides of the run and its hash, such as ``model=rnn,seed=2-0123abcd``; its folder is called so.
        seed: the seed of config and result.
        tests: the scores by test set.
        lines: the translations of the references; the run is then scored on them.
        study: the study that its config names.
        overrides: the overrides, where ``given`` is a name alone.
        sources: the sources of ``lines``.
        nats: the negative log-likelihood of each reference.
        train: entries of the result's ``train``.
    """
    folder = start_run(root, given, overrides)
    name = folder.name
    recipe = sorted(part for part in given[:-9].split(",") if not part.startswith("seed="))
    config = {"seed": seed, "output": str(root), "data": {"seed": seed}, "recipe": recipe}
    (folder / "config.yaml").write_text(yaml.safe_dump(config | {"study": study}))
    if lines is not None:
        write_translations(folder, lines, REFERENCES, sources)
        tests = {"toy": scores(**corpus_scores(lines, REFERENCES))}
        if sources is not None:
            tests["toy"]["text"] = TranslatedText(lines, REFERENCES, sources).fingerprint
        if nats is not None:
            tests["toy"] |= mean_nats(nats, REFERENCES)
            text = "".join(f"{value:.4f}\n" for value in nats)
            (folder / "translations" / "toy.nats.txt").write_text(text)
    result = {
        "run": name,
        "config_hash": "0123abcd",
        "version": "0.2.0",
        "seed": seed,
        "model": {"name": "rnn", "parameters": 2_000_000, "parameters_non_embedding": 1_500_000},
        "data": {"name": "toy", "fingerprint": "data-print", "token_stream": f"stream of {seed}"}
        | {"token_stream_after": {"1": f"beginning of {seed}"}},
        "tokenizer": {"name": "spm", "fingerprint": "tokenizer-print", "vocab_size": 100},
        "train": {"steps": 100, "tokens_src": 3e6, "tokens_tgt": 4e6, "flops": 5.25e15}
        | {"seconds": 90.0, "tokens_per_second": 1000.0, "device": "cpu", "peak_flops": 2e12, "mfu": 0.25}
        | {"peak_memory_bytes": 3e9}
        | train,
        "validation": {"loss": 1.5, "perplexity": 4.48},
        "test": {"toy": scores()} if tests is None else tests,
    }
    (folder / "result.json").write_text(json.dumps(result))
    return folder


def corpus_scores(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """Return the scores of ``standard_metrics``; their metrics ignore sources."""
    return score_corpus(standard_metrics(), hypotheses, references, [""] * len(hypotheses))


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


def write_translations(
    folder: Path, hypotheses: list[str], references: list[str], sources: list[str] | None = None
) -> None:
    (folder / "translations").mkdir()
    for ending, lines in ((".txt", hypotheses), (".ref.txt", references), (".src.txt", sources)):
        if lines is not None:
            (folder / "translations" / f"toy{ending}").write_text("".join(f"{line}\n" for line in lines))


def start_run(root: Path, given: str, overrides: Sequence[str] = ()) -> Path:
    """Write what a run writes first, and return its folder."""
    below, _, last = given.rpartition("/") if "<" not in given else ("", "", given)
    folder = root / below / last.replace("=", "_").replace(",", "-")
    folder.mkdir(parents=True)
    described = {
        "format": FORMAT,
        "version": "0.2.0",
        "name": folder.name,
        "label": "",
        "overrides": list(overrides) or re.sub(r"-[0-9a-f]{8}$", "", last).split(","),
        "config_hash": "0123abcd",
        "training_hash": "4567abcd",
        "versions": {},
    }
    (folder / "run.json").write_text(json.dumps(described))
    return folder


def make_unfinished(root: Path, given: str) -> Path:
    folder = start_run(root, given)
    (folder / "config.yaml").write_text("seed: 7\n")
    return folder


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
    return f"{arm}-0000000{seed}"


def add_arm(root: Path, place: int, arm: str, seed: int = 1, node: dict[str, Any] = NODE, **made: Any) -> Path:
    """A finished arm with its run."""
    run = arm_run(arm, seed)
    make_arm(root, place, *arm_overrides(arm, seed), run=run)
    return make_run(root, run, seed=seed, study=node, overrides=arm_overrides(arm, seed), **made)


def rows_of(root: Path) -> list[ArmRow]:
    arms, runs = find_arms(root), find_runs(root)
    return build_rows(root, arms, runs, find_study(root, arms, runs).reference)


def folder_of(run: StoredRun) -> Path:
    """Return the folder of a run that is not in an archive."""
    return Path(run.origin)


def change_archived(archive: Path, *keys: str, to: Any, line: int = 0) -> None:
    """Set one entry of a line of an archive's ``runs.jsonl``."""
    lines = [json.loads(text) for text in (archive / "runs.jsonl").read_text().splitlines()]
    place = lines[line]
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = to
    (archive / "runs.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))


def read_sentences(archive: Path, test_set: str = "toy") -> list[dict[str, Any]]:
    with gzip.open(archive / "translations" / f"{test_set}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_sentences(archive: Path, sentences: Sequence[dict[str, Any]], test_set: str = "toy") -> None:
    with gzip.open(archive / "translations" / f"{test_set}.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(one)}\n" for one in sentences)


def unpacked(page: str, name: str) -> str:
    """What a report's page carries compressed under a name: ``plotly``, ``figures`` or ``translations-data``."""
    found = re.search(rf'<script type="application/gzip" id="{name}">(.*?)</script>', page)
    assert found, f"the page has no {name}"
    return gzip.decompress(base64.b64decode(found[1])).decode()


class Resources(HTMLParser):
    """Collects what a page would load, where its links lead, and the text of its cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.scripts = 0
        self.bold: list[str] = []
        self.words: list[str] = []
        self.linked: list[tuple[str, str]] = []
        self._open: list[tuple[str, str]] = []
        self.feed(text.replace("<wbr>", ""))

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.scripts += tag == "script"
        self.loaded += [str(values[key]) for key in ("src", "srcset", "data") if key in values]
        if "href" in values:
            (self.links if tag == "a" else self.loaded).append(str(values["href"]))
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
