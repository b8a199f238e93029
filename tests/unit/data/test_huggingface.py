"""A data set in the format of the Hugging Face Hub, from a local folder."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
from conftest import triptych

from tests.hub import write_data_set
from tests.unit.data.test_corpus import texts
from triptych.data.cleaning import NO_CLEANING, Cleaning
from triptych.data.huggingface import HuggingFaceCorpus
from triptych.data.wmt14 import PATH, Wmt14
from triptych.errors import UserError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pairs = [(f"a {i}", f"A {i}") for i in range(10)]
    splits = {"train": [*pairs, ("", "B"), ("a 1", "A 1")], "validation": pairs[:3], "test": [("c\nc", "C"), ("", "D")]}
    write_data_set(tmp_path / "wmt", "fr-en", ("en", "fr"), splits, shards=3)
    return tmp_path


def load(folder: Path, **changes: Any) -> HuggingFaceCorpus:
    settings: dict[str, Any] = {
        "name": "wmt14",
        "path": str(folder / "wmt"),
        "subset": "fr-en",
        "revision": None,
        "src": "en",
        "tgt": "fr",
        "columns": ["translation.en", "translation.fr"],
        "train": "train",
        "validation": "validation",
        "test": ["test"],
        "cache": str(folder / "cache"),
        "clean": NO_CLEANING,
        "max_length": 100,
        "max_length_ratio": None,
        "join": None,
    }
    return HuggingFaceCorpus(**{**settings, **changes})


def test_splits(folder: Path) -> None:
    corpus = load(folder)
    assert texts(corpus, "train") == (
        [*(f"a {i}" for i in range(10)), "a 1"],
        [*(f"A {i}" for i in range(10)), "A 1"],
    )
    assert texts(corpus, "test") == (["c c", ""], ["C", "D"])
    assert corpus.report[0] == f"train: 12 pairs read from {folder / 'wmt'}, train"
    assert load(folder).fingerprint == corpus.fingerprint
    back = load(folder, src="fr", tgt="en", columns=["translation.fr", "translation.en"])
    assert texts(back, "validation") == (["A 0", "A 1", "A 2"], ["a 0", "a 1", "a 2"])


def test_slices_and_cleaning(folder: Path) -> None:
    cleaning = Cleaning(duplicates=True, identical=False, max_words=None, max_word_ratio=None, languages=False)
    corpus = load(folder, train="train[5:]", validation="train[:2]", test=[], clean=cleaning)
    assert texts(corpus, "train")[0] == ["a 5", "a 6", "a 7", "a 8", "a 9", "a 1"]
    assert texts(corpus, "validation")[0] == ["a 0", "a 1"]
    assert texts(load(folder, clean=cleaning), "train")[0] == [f"a {i}" for i in range(10)]


def test_checked_text_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load(folder)
    monkeypatch.setattr("triptych.data.huggingface._Rows.__iter__", None)
    assert load(folder).fingerprint == first.fingerprint


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"columns": ["translation.en", "de"]},
            r"data.columns: .*wmt has no column de, but translation.en, translation.fr",
        ),
        (
            {"columns": ["translation.en"]},
            r"data.columns=\[translation.en\] must be the columns of source and target, by n",
        ),
        (
            {"columns": ["translation.en", "translation.en"]},
            "must be the columns of source and target, by name, such as",
        ),
        ({"columns": [1, 2]}, r"data.columns=\[1,2\] must be the columns of source and target, by name, such as"),
        ({"columns": "translation.en"}, r"data.columns=translation.en must be"),
        ({"train": "training"}, "wmt cannot be loaded .* check data.path, data.subset and the splits training, valid"),
        ({"revision": "v2"}, "data.revision=v2 is for a data set of the Hub, and .* is a folder"),
        ({"subset": "de-en"}, "wmt cannot be loaded"),
        ({"validation": "train[:0]"}, "corresponds to no data"),
    ],
)
def test_what_is_not_there(folder: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        load(folder, **changes)


def load_wmt14(folder: Path, **changes: Any) -> Wmt14:
    settings: dict[str, Any] = {
        "src": "en",
        "tgt": "fr",
        "dir": None,
        "path": str(folder / "wmt"),
        "validation": "val",
        "test": ["test"],
        "cache": str(folder / "cache"),
        "max_length": 100,
        "max_length_ratio": None,
        "join": None,
        "clean": NO_CLEANING,
    }
    return Wmt14(**{**settings, **changes})


def test_a_hub_that_does_not_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked once, and not with HF_HUB_OFFLINE."""
    config = pytest.importorskip("datasets").config
    monkeypatch.setattr(config, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("no_proxy", "*")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
    for endpoint in (address, "nowhere"):
        monkeypatch.setattr(config, "HF_ENDPOINT", endpoint)
        with pytest.raises(UserError, match=rf"some/text is neither .*Hub \({endpoint}\) does not answer; .*=FOLDER"):
            load(folder, path="some/text")
        assert not config.HF_HUB_OFFLINE
    monkeypatch.setattr(config, "HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match=r"HF_HUB_OFFLINE forbids to ask the Hub"):
        load(folder, path="some/text")
    with pytest.raises(UserError, match=r"data\.path=\./text is neither a folder nor a name"):
        load(folder, path="./text")


def test_wmt14_from_the_hub_or_from_files(folder: Path) -> None:
    corpus = load_wmt14(folder)
    assert (corpus.name, corpus.test_names) == ("wmt14", ["test"])
    assert texts(corpus, "validation") == (["a 0", "a 1", "a 2"], ["A 0", "A 1", "A 2"])
    assert texts(load_wmt14(folder, src="fr", tgt="en"), "validation")[0] == ["A 0", "A 1", "A 2"]
    for split, prefix in (("train", "train"), ("validation", "val"), ("test", "test")):
        for language, side in zip(("en", "fr"), corpus.splits[split], strict=True):
            (folder / f"{prefix}.{language}").write_text("".join(f"{line}\n" for line in side))
    own = load_wmt14(folder, dir=str(folder), path=PATH)
    assert (own.name, own.fingerprint) == ("text", corpus.fingerprint)
    with pytest.raises(UserError, match=r"data\.dir=.* and data\.path=.* are two places of the text; give one"):
        load_wmt14(folder, dir=str(folder))


def test_languages_that_wmt14_lacks(folder: Path) -> None:
    with pytest.raises(
        UserError, match=r"data\.src=de data\.tgt=fr is not in WMT 2014, which has en with one of cs, de, "
    ):
        load_wmt14(folder, src="de")


def test_shares_and_names_of_test_sets(folder: Path) -> None:
    corpus = load(folder, validation=0.3, test=0.3)
    assert sum(len(pairs.src) for pairs in corpus.splits.values()) == 11
    assert load(folder, test=["test[:50%]", "test[50%:]"]).test_names == ["test_to_50", "test_from_50"]
    assert load(folder, test=["test[0:1]"]).test_names == ["test_0_1"]


def test_a_folder_that_has_changed_is_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``datasets`` does not notice, and the identity of rows in memory would not change."""
    monkeypatch.setattr("datasets.config.IN_MEMORY_MAX_SIZE", 1e9)
    assert texts(load(folder), "validation")[0] == ["a 0", "a 1", "a 2"]
    shutil.rmtree(folder / "wmt")
    pairs = [("z", "Z")] * 3
    write_data_set(folder / "wmt", "fr-en", ("en", "fr"), {"train": pairs, "validation": pairs, "test": pairs})
    assert texts(load(folder), "validation")[0] == ["z", "z", "z"]


@pytest.mark.slow
def test_from_the_command_line(folder: Path) -> None:
    """``prepare`` makes what ``train`` needs; the run is found where its data set is not, and names no new one."""
    data = ["data=huggingface", f"data.path={folder / 'wmt'}", "data.subset=fr-en", "data.src=en", "data.tgt=fr"]
    small = ["scale=smoke", "tokenizer=char", "budget.steps=2", "validation.every=2", "log_every=1", "cache=cache"]
    prepared = triptych("prepare", "-m", *data, *small, "model=rnn,transformer", cwd=folder)
    assert prepared.returncode == 0, prepared.stderr
    assert prepared.stdout.count("train: 12 pairs read from") == 1
    assert "huggingface: 16 pairs" in prepared.stdout
    refused = triptych("prepare", *data, *small, "model=rnn,transformer", cwd=folder)
    assert "add -m" in refused.stderr
    trained = triptych("train", *data, *small, "name=x", cwd=folder)
    assert trained.returncode == 0, trained.stderr
    (folder / "wmt").rename(folder / "moved")
    assert triptych("translate", "run=runs/x", cwd=folder, stdin="a 1\n").returncode == 0
    moved = [*data[:1], f"data.path={folder / 'moved'}", *data[2:]]
    again = triptych("train", *moved, *small, "name=x", cwd=folder)
    assert again.returncode == 0, again.stderr
    asked = triptych("evaluate", "run=runs/x", "split=test", cwd=folder)
    assert "would fetch what triptych's own configuration does not name: data.path=" in asked.stderr
