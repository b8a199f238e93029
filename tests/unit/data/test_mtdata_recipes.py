"""A recipe of mtdata, from archives that stand where mtdata keeps its downloads."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.unit.data.test_corpus import texts
from triptych.data import mtdata_recipes
from triptych.data.mtdata_recipes import RecipeCorpus
from triptych.errors import UserError

URL = "http://www.statmt.org/wmt13/training-parallel-{}.tgz"
RECIPE = """
- id: tiny
  langs: eng-fra
  desc: two corpora
  url: none
  train:
    - Statmt-commoncrawl_wmt13-1-fra-eng
    - Statmt-europarl_wmt13-7-fra-eng
"""


def plant(root: Path, url: str, name: str, files: dict[str, str]) -> None:
    """Write an archive where mtdata keeps what it has downloaded from an address."""
    digest = hashlib.md5(url.encode()).hexdigest()
    folder = root / "www.statmt.org" / digest[:4] / digest[4:]
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / name, "w:gz") as archive:
        for file, text in files.items():
            entry = tarfile.TarInfo(file)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    (folder / f"{name}._valid").touch()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for key, place in (("MTDATA", "downloads"), ("MTDATA_RECIPES", "recipes")):
        (tmp_path / place).mkdir()
        monkeypatch.setenv(key, str(tmp_path / place))
    (tmp_path / "recipes" / "mtdata.recipes.mine.yml").write_text(RECIPE)
    crawled = {"commoncrawl.fr-en.fr": "Un\nDeux\n", "commoncrawl.fr-en.en": "one\ntwo\n"}
    plant(tmp_path / "downloads", URL.format("commoncrawl"), "wmt13_parallel_commoncrawl.tgz", crawled)
    return tmp_path


def load(folder: Path, **changes: Any) -> RecipeCorpus:
    settings: dict[str, Any] = {
        "recipe": "tiny",
        "src": "en",
        "tgt": "fr",
        "validation": 0.3,
        "test": [],
        "cache": str(folder / "cache"),
        "clean": None,
        "max_length": None,
        "max_length_ratio": None,
        "join": None,
    }
    return RecipeCorpus(**{**settings, **changes})


@pytest.mark.slow
def test_corpora_are_joined_and_a_failed_call_goes_on(folder: Path) -> None:
    with pytest.raises(UserError, match=r"mtdata failed .*; see .*tiny.log, and `mtdata list-recipe`"):
        load(folder)
    parliament = {f"training/europarl-v7.fr-en.{one}": f"{one} three\n{one} four\n" for one in ("fr", "en")}
    plant(folder / "downloads", URL.format("europarl-v7"), "wmt13_europarl_v7.tgz", parliament)
    corpus = load(folder)
    found = {pair for split in ("train", "validation") for pair in zip(*texts(corpus, split), strict=True)}
    assert found == {("one", "Un"), ("two", "Deux"), ("en three", "fr three"), ("en four", "fr four")}
    assert load(folder).fingerprint == corpus.fingerprint


@pytest.mark.slow
def test_recipes_of_triptych_and_of_mtdata_are_known(folder: Path) -> None:
    (folder / "made").mkdir()
    gathered = mtdata_recipes._gather_recipes(folder / "made")
    listed = mtdata_recipes._run_mtdata(["-m", "mtdata", "list-recipe"], "all", folder / "log", recipes=gathered)
    assert {"wmt14_enfr", "vaswani_etal_2017_ende", "tiny"} <= {line.split("\t")[0] for line in listed.splitlines()}
    known = mtdata_recipes._run_mtdata(["-c", KNOWN], "all", folder / "log", recipes=gathered)
    assert known.split() == ["True"] * 7, "every corpus of wmt14_enfr is in mtdata's index"


KNOWN = """
from mtdata.index import INDEX
from mtdata.recipe import RECIPES
print(*(corpus in INDEX for corpus in RECIPES["wmt14_enfr"].all_dids()))
"""


def test_without_mtdata(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"data.recipe=tiny needs the package mtdata, .*triptych\[recipes\]"):
        load(folder)
