"""A recipe of mtdata, from archives that stand where mtdata keeps its downloads."""

from __future__ import annotations

import hashlib
import io
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.unit.data.test_corpus import texts
from triptych.data import mtdata_recipes
from triptych.data.cleaning import NO_CLEANING
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
        "clean": NO_CLEANING,
        "max_length": None,
        "max_length_ratio": None,
        "join": None,
    }
    return RecipeCorpus(**{**settings, **changes})


@pytest.mark.slow
def test_corpora_are_joined_and_a_failed_call_goes_on(folder: Path) -> None:
    with pytest.raises(
        UserError, match=r"www\.statmt\.org does not answer; try again with a network\. What is downloaded is kept"
    ):
        load(folder)
    parliament = {f"training/europarl-v7.fr-en.{one}": f"{one} three\n{one} four\n" for one in ("fr", "en")}
    plant(folder / "downloads", URL.format("europarl-v7"), "wmt13_europarl_v7.tgz", parliament)
    corpus = load(folder)
    found = {pair for split in ("train", "validation") for pair in zip(*texts(corpus, split), strict=True)}
    assert found == {("one", "Un"), ("two", "Deux"), ("en three", "fr three"), ("en four", "fr four")}
    assert load(folder).fingerprint == corpus.fingerprint


@pytest.mark.slow
def test_a_recipe_of_other_languages_is_refused_before_anything_is_downloaded(folder: Path) -> None:
    with pytest.raises(UserError, match=r"data\.recipe=tiny is of eng and fra, and not of data.src=en and data.tgt=de"):
        load(folder, tgt="de")


@pytest.mark.slow
def test_the_corpora_of_triptychs_recipe_are_known_to_mtdata(folder: Path) -> None:
    (file,) = Path(mtdata_recipes.__file__).parent.glob("mtdata.recipes*.yml")
    shutil.copy(file, folder / "recipes")
    mtdata = mtdata_recipes._Mtdata("wmt14_enfr", folder / "log", folder / "recipes")
    assert mtdata.tags(["en", "fr"]) == ["eng", "fra"]
    assert mtdata.run("-c", KNOWN).split() == ["True"] * 7


def test_a_recipe_that_is_changed_is_another_one(folder: Path) -> None:
    first, own = mtdata_recipes._hash_of("tiny"), folder / "recipes" / "mtdata.recipes.mine.yml"
    assert mtdata_recipes._hash_of("tiny") == first
    own.write_text(RECIPE.replace("europarl_wmt13", "europarl"))
    assert mtdata_recipes._hash_of("tiny") != first
    own.write_text("- [")
    with pytest.raises(UserError, match=r"mtdata\.recipes\.mine\.yml cannot be read"):
        mtdata_recipes._hash_of("tiny")


@pytest.mark.parametrize("name", ["", "../x", "a/b", "n" * 81])
def test_what_is_no_name_of_a_recipe(name: str, folder: Path) -> None:
    with pytest.raises(UserError, match="is no name of a recipe"):
        load(folder, recipe=name)
    assert not (folder / "cache").exists()


KNOWN = """
from mtdata.index import INDEX
from mtdata.recipe import RECIPES
print(*(corpus in INDEX for corpus in RECIPES["wmt14_enfr"].all_dids()))
"""


def test_without_mtdata(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"data.recipe=tiny needs the package mtdata, .*\.\[recipes\]"):
        load(folder)
