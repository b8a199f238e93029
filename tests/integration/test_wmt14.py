"""WMT 2014 from a folder in the Hub's format, 200,000 generated pairs: a run that is killed in every stage."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hub import write_data_set
from tests.integration.test_kills import end_of
from triptych.data import toy
from triptych.data.toy_vocabulary import BUILT_IN

PAIRS = 200_000
TRAIN = ["train", "data=wmt14", "model=transformer", "scale=smoke", "budget.steps=40", "validation.every=10", "name=x"]
TRAIN += ["tokenizer.vocab_size=400", "cache=../cache", "data.clean.duplicates=true", "checkpoint.average=2"]
TRAIN += ["data.max_length=60"]


@pytest.fixture(scope="module")
def data_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of one to three sentences of the toy corpus."""
    folder = tmp_path_factory.mktemp("hub") / "wmt14"
    sizes = {"train": 3000, "validation": 50, "test": 50, "test_long": 1}
    made = {
        name: [*zip(*sides, strict=True)] for name, sides in toy.splits(seed=0, vocabulary=BUILT_IN, **sizes).items()
    }
    draw, sentences = random.Random(0), made.pop("train")
    made.pop("test_long")
    chosen = (draw.choices(sentences, k=draw.randint(1, 3)) for _ in range(PAIRS))
    joined = [(" ".join(src for src, _ in parts), " ".join(tgt for _, tgt in parts)) for parts in chosen]
    write_data_set(folder, "fr-en", ("en", "fr"), {"train": joined, **made}, shards=4)
    return folder


def start(folder: Path, data_set: Path) -> subprocess.Popen[bytes]:
    folder.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "triptych", *TRAIN, f"data.path={data_set}"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=(folder / "errors").open("ab"),
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def exists(pattern: str) -> Callable[[Path], bool]:
    return lambda root: any(root.glob(pattern))


STAGES: dict[str, Callable[[Path], bool]] = {
    "conversion": exists("cache/huggingface/**/*.incomplete"),
    "text": exists("cache/text/.*/text.journal"),
    "tokenizer": exists("cache/tokenizers/.*.lock"),
    "ids": exists("cache/stores/.*/train.journal"),
    "training": exists("run/runs/x/metrics.csv"),
    "test": exists("run/runs/x/trained.json"),
}
"""What a stage leaves while it runs."""


@pytest.mark.slow
def test_killed_in_every_stage(data_set: Path, tmp_path: Path) -> None:
    assert start(tmp_path / "whole" / "run", data_set).wait() == 0
    caught = []
    for name, has_begun in STAGES.items():
        process = start(tmp_path / "cut" / "run", data_set)
        while process.poll() is None:
            if has_begun(tmp_path / "cut"):
                process.kill()
                process.wait()
                caught.append(name)
            time.sleep(0.002)
    assert caught == list(STAGES)
    assert start(tmp_path / "cut" / "run", data_set).wait() == 0
    assert end_of(tmp_path / "cut" / "run") == end_of(tmp_path / "whole" / "run")
