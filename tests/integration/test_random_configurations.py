"""Five steps of five hundred configurations, every pair of options among them: each trains, or says why not."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations, islice
from pathlib import Path

import pytest
import sentencepiece
import torch
from conftest import compose_train, triptych, write_three_languages
from omegaconf import OmegaConf

from docs_build.faults.settings import leaves
from triptych.config.catalog import options_of
from triptych.config.conf_folder import conf_dir

COUNT, PARTS = 500, 10
LARGE = ("_base", "_big", "2015", "2017", "_gnmt")
"""Ends of the names of models of published sizes, of which five steps take minutes."""
SMALL = ["scale=smoke", "budget.steps=5", "validation.every=3", "log_every=2", "cache=../cache", "name=x"]
TOY = ["data.train=300", "data.validation=4", "data.test=4", "data.test_long=4"]
DATA = {
    "toy": [*TOY, "suite_items=2"],
    "toy_zipf": [*TOY, "data.stems=300"],
    "toy_languages": [one for one in TOY if "long" not in one],
    "text": [
        "data.src=en",
        "data.tgt=fr",
        "data.dir=..",
        "data.train=train",
        "data.validation=val",
        "data.test=[test]",
    ],
}
TOKENIZER = {
    "bpe": ["tokenizer.vocab_size=340"],
    "unigram": ["tokenizer.vocab_size=340"],
    "own": ["tokenizer.model_file=../own.model"],
}

NONE = "none chosen"


def of_group(group: str) -> list[str]:
    return [one.name for one in options_of(group, [conf_dir()])]


CHOICES = {
    "model": [name for name in of_group("model") if not name.endswith(LARGE)],
    "data": [*DATA],
    "tokenizer": of_group("tokenizer"),
    "loss": of_group("loss"),
    "optimizer": of_group("optimizer"),
    "search": of_group("search"),
    "search@validation.search": of_group("search"),
    "match": [NONE, *of_group("match")],
    "metric": [f"[{name}]" for name in of_group("metric") if name != "comet"],  # which would be fetched
    "callbacks": ["[]", *(f"[{name}]" for name in of_group("callbacks"))],
    "logger": ["[]", *(f"[{name}]" for name in of_group("logger"))],
    "strategy": ["cpu", *(["single_gpu"] if torch.cuda.is_available() else [])],
    "strategy.workers": ["0", "1"],
    "batch.accumulate": ["1", "2"],
    "checkpoint.monitor": ["loss", "bleu"],
    "checkpoint.average": ["1", "2"],
    "test": ["true", "false"],
}


def pairs_of(choice: Mapping[str, str]) -> set[tuple[tuple[str, str], ...]]:
    return set(combinations(choice.items(), 2))


def choices(draw: random.Random) -> Iterator[dict[str, str]]:
    """Yield choices so that every pair of options is soon among them, by the best of 30 random ones at a time."""

    def one() -> dict[str, str]:
        return {key: draw.choice(options) for key, options in CHOICES.items()}

    left = {((a, x), (b, y)) for a, b in combinations(CHOICES, 2) for x in CHOICES[a] for y in CHOICES[b]}
    while left:
        first = dict(min(left))
        best = max(({**one(), **first} for _ in range(30)), key=lambda choice: len(pairs_of(choice) & left))
        left -= pairs_of(best)
        yield best
    while True:
        yield one()


def changes(overrides: list[str], draw: random.Random) -> list[str]:
    """Up to two numbers and truth values of a configuration, changed within reason."""
    config = compose_train(*overrides)
    changed = []
    for key in draw.sample(sorted(leaves(config)), draw.randrange(3)):
        value = OmegaConf.select(config, key, throw_on_resolution_failure=False)
        if key.startswith(("budget", "data", "study", "scale", "strategy", "hydra", "tokenizer.vocab_size")):
            continue
        if isinstance(value, bool):
            changed.append(f"{key}={str(not value).lower()}")
        elif isinstance(value, int | float):
            less = value // 2 if isinstance(value, int) else value / 2
            changed.append(f"{key}={draw.choice([1, value * 2, less])}")
    return changed


@cache
def chosen() -> list[dict[str, str]]:
    return list(islice(choices(random.Random(25)), COUNT))


def overrides_of(number: int) -> list[str]:
    """The whole command line of a configuration. Most train, since most options go together."""
    choice = chosen()[number]
    further = [*DATA[choice["data"]], *TOKENIZER.get(choice["tokenizer"], [])]
    overrides = [*SMALL, *(f"{key}={value}" for key, value in choice.items() if value != NONE), *further]
    return [*overrides, *changes(overrides, random.Random(number))]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_three_languages(tmp_path_factory.mktemp("configurations"))
    sentencepiece.SentencePieceTrainer.train(
        input=folder / "train.en", model_prefix=str(folder / "own"), vocab_size=30, model_type="bpe", minloglevel=2,
        pad_id=0, unk_id=1, bos_id=2, eos_id=3, hard_vocab_limit=False,
        control_symbols=["<en>", "<fr>"],
    )  # fmt: skip
    return folder


def wrong(place: Path, numbers: range, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], int]:
    """What is wrong with how each ended, and how many trained."""
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    found, trained = [], 0
    for number in numbers:
        folder, overrides = place / str(number), overrides_of(number)
        folder.mkdir()
        done = triptych("train", *overrides, cwd=folder)
        said = done.stderr.strip().splitlines()
        trained += done.returncode == 0
        unexpected = "Traceback" in done.stderr + done.stdout or done.returncode not in (0, 2)
        if unexpected or (done.returncode and not said[-1].startswith("triptych: ")):
            found.append(f"status {done.returncode} of {' '.join(overrides)}: {done.stderr[-300:]}")
        shutil.rmtree(folder)
    return found, trained


def test_they_have_every_pair_of_options() -> None:
    wanted = [((a, x), (b, y)) for a, b in combinations(CHOICES, 2) for x in CHOICES[a] for y in CHOICES[b]]
    assert set(wanted) <= set().union(*map(pairs_of, chosen()))


@pytest.mark.slow
def test_two_of_them(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not wrong(place, range(2), monkeypatch)[0]


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("part", range(PARTS))
def test_all_of_them(part: int, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = range(part, COUNT, PARTS)
    found, trained = wrong(place, numbers, monkeypatch)
    assert not found
    assert trained > len(numbers) / 3
