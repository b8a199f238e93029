"""Shared by the tests: configs as the command line composes them, and small batches."""

from __future__ import annotations

import copy
import json
import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import torch
from browser import one_browser as one_browser
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from hypothesis import settings
from omegaconf import DictConfig

from docs_build.command import triptych as triptych
from triptych.config import schema
from triptych.config.search_path import conf_dir
from triptych.contract.batch import Batch
from triptych.contract.model import TranslationModel
from triptych.contract.vocabulary import Vocabulary

ROOT = Path(__file__).parents[1]
VOCABULARY = Vocabulary(src_size=40, tgt_size=40, joint=True, src_tag=4, tgt_tag=5)
WORDS = {
    "fr": ["chat", "chien", "maison", "rouge", "dort", "mange"],
    "en": ["cat", "dog", "house", "red", "sleeps", "eats"],
    "de": ["Katze", "Hund", "Haus", "rot", "schläft", "frisst"],
}

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
os.environ.pop("COLUMNS", None)  # processes of pytest-xdist have it, and long lines would be broken
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))


def triptych_process(
    *arguments: str, cwd: Path, stdin: str = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own, with as many threads as this one computes with."""
    return subprocess.run(
        [sys.executable, "-m", "triptych", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**(os.environ if env is None else env), "OMP_NUM_THREADS": str(torch.get_num_threads())},
        check=False,
    )


def compose_train(*overrides: str) -> DictConfig:
    """conf/train.yaml with overrides."""
    return copy.deepcopy(_compose_train(*overrides))


@cache
def _compose_train(*overrides: str) -> DictConfig:
    schema.register()
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        return compose("train", overrides=list(overrides))


def build_model(*overrides: str, vocabulary: Vocabulary = VOCABULARY, **sizes: int) -> TranslationModel:
    """A freshly initialised model in evaluation mode, of double precision."""
    torch.manual_seed(0)
    config = compose_train("scale=smoke", *overrides)
    return instantiate(config.model, vocabulary=vocabulary, **sizes).eval().double()


def random_batch(lengths: list[tuple[int, int]], seed: int = 0) -> Batch:
    """Pairs of random pieces, of the given lengths without special ids."""
    generator = torch.Generator().manual_seed(seed)

    def ids(length: int) -> list[int]:
        return torch.randint(6, VOCABULARY.src_size, (length,), generator=generator).tolist()

    return Batch.from_ids([ids(src) for src, _ in lengths], [ids(tgt) for _, tgt in lengths])


def write_three_languages(folder: Path) -> Path:
    """Files of ``data=text``: 40 training, 6 validation and 5 test sentences, the same in each language."""
    draw = random.Random(0)
    for prefix, size in (("train", 40), ("val", 6), ("test", 5)):
        sentences = [[draw.randrange(6) for _ in range(draw.randint(1, 5))] for _ in range(size)]
        for language, words in WORDS.items():
            text = "".join(" ".join(words[i] for i in sentence) + "\n" for sentence in sentences)
            (folder / f"{prefix}.{language}").write_text(text, encoding="utf-8")
    return folder


def forget_digests(run: Path) -> None:
    """Take the digests out of a run, as if an earlier version had made it, so that a test can change its files."""
    for path in (run / "result.json", run / "trained.json"):
        content = json.loads(path.read_text())
        del content["digests"]
        path.write_text(json.dumps(content))


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run, ``runs/tiny``, of two steps: for tests of the commands on a run."""
    folder = tmp_path_factory.mktemp("trained")
    small = ["data.validation=4", "data.test=6", "data.test_long=2"]
    done = triptych("train", "scale=smoke", "cache=cache", "name=tiny", "budget.steps=2", *small, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def batch() -> Batch:
    return random_batch([(5, 4), (2, 6), (7, 3)])
