"""Text files as a corpus: counts, dropped pairs, and the error messages."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from triptych.data.corpus import Corpus, Pairs, Section, TextCorpus, ToyCorpus
from triptych.errors import UserError


def write(folder: Path, **files: str | bytes) -> None:
    """Write files of one sentence per line; ``train_en`` becomes ``train.en``."""
    for name, text in files.items():
        data = text if isinstance(text, bytes) else text.encode()
        (folder / name.replace("_", ".")).write_bytes(data)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(
        tmp_path, train_en="a\nb\nc\n", train_fr="A\nB\nC\n", val_en="d\n", val_fr="D\n", test_en="e\n", test_fr="E\n"
    )
    return tmp_path


def texts(corpus: Corpus, split: str) -> tuple[list[str], ...]:
    return tuple(map(list, corpus.splits[split]))


def load(folder: Path, **changes: object) -> Corpus:
    settings = {
        "name": "text",
        "src": "en",
        "tgt": "fr",
        "dir": str(folder),
        "train": "train",
        "validation": "val",
        "test": ["test"],
        "cache": str(folder / "cache"),
        "max_length": 100,
        "max_length_ratio": None,
        "directions": None,
        "pivot": None,
    }
    return TextCorpus(**{**settings, **changes})


def test_splits_by_name(folder: Path) -> None:
    corpus = load(folder)
    assert texts(corpus, "train") == (["a", "b", "c"], ["A", "B", "C"])
    assert corpus.test_names == ["test"]
    assert corpus.report[0] == "train: 3 pairs read from train.en and train.fr"
    assert texts(load(folder, src="fr", tgt="en"), "validation") == (["D"], ["d"])


def test_files_of_any_name(folder: Path) -> None:
    """Where a prefix stands, the files of both sides may stand, with the same text and so the same fingerprint."""
    (folder / "other").mkdir()
    for old, new in (("train.en", "other/a.txt"), ("train.fr", "b.text"), ("val.en", "c"), ("val.fr", "d")):
        (folder / old).rename(folder / new)
    for side in ("en", "fr"):
        (folder / "other" / f"test.{side}.gz").write_bytes(gzip.compress((folder / f"test.{side}").read_bytes()))
    pairs = {"train": ["other/a.txt", "b.text"], "validation": ["c", str(folder / "d")]}
    found = load(folder, **pairs)
    assert texts(found, "train") == (["a", "b", "c"], ["A", "B", "C"])
    assert found.report[0] == "train: 3 pairs read from a.txt and b.text"
    again = load(folder, **pairs, test=[["other/test.en.gz", "other/test.fr.gz"]])
    assert (again.test_names, again.fingerprint) == (["test"], found.fingerprint)
    held_out = load(folder, train=pairs["train"], validation=0.5)
    assert sum(len(held_out.splits[split].src) for split in ("train", "validation")) == 3


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"train": "train.en"}, r"'train.en' is a file, and here stands the prefix of two; .*data.train=\[FILE,FILE\]"),
        ({"train": ["train.en", "none"]}, "there is no file '.*none'; give paths below data.dir="),
        ({"train": ["train.en"]}, r"data.train=\[train.en\] must be a prefix, or the files of source and target"),
        ({"train": 3}, "data.train=3 must be a prefix, or"),
        ({"validation": ["a", "b", "c"]}, r"data.validation=\[a,b,c\] must be a prefix, or"),
        ({"test": ["test", ["test.en", 4]]}, r"data.test\[1\]=\[test.en,4\] must be a prefix, or"),
        ({"test": ["test", ["test.en", "test.fr"]]}, "two splits have the name 'test'"),
        ({"train": ["train.en", "train.fr"], "directions": ["en-fr", "fr-en"]}, "names the files of one direction"),
    ],
)
def test_files_that_cannot_be_are_refused(folder: Path, changes: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        load(folder, **changes)


def test_gzip_carriage_returns_byte_order_mark_and_line_separators(folder: Path) -> None:
    (folder / "train.en").unlink()
    (folder / "train.en.gz").write_bytes(gzip.compress("\ufeffa\r\nb\u2028b \n\tc".encode()))
    assert texts(load(folder), "train")[0] == ["a", "b\u2028b", "c"]


def test_empty_lines_leave_training_alone(folder: Path) -> None:
    write(folder, train_en="a\n \nc\nd\n", train_fr="A\nB\n\nD\n", test_en="e\n\n", test_fr="\nE\n")
    corpus = load(folder)
    assert texts(corpus, "train") == (["a", "d"], ["A", "D"])
    assert texts(corpus, "test") == (["e", ""], ["", "E"])
    assert "train: 2 pairs with an empty line dropped" in corpus.report
    assert "test: 2 pairs with an empty line kept" in corpus.report


def test_fingerprint_follows_languages_and_lines(folder: Path) -> None:
    first = load(folder).fingerprint
    assert len(first) == 16
    assert load(folder).fingerprint == first
    swapped = load(folder, src="fr", tgt="en").fingerprint
    write(folder, test_en="f\n")
    assert len({first, swapped, load(folder).fingerprint}) == 3


def test_fingerprint_depends_on_where_a_split_ends() -> None:
    def corpus(train: list[str], test: list[str]) -> Corpus:
        return Corpus("c", ("en", "fr"), {"train": Pairs(train, train), "validation": Pairs(test, test)}, [])

    assert corpus(["a", "b"], ["c"]).fingerprint != corpus(["a"], ["b", "c"]).fingerprint


def test_unequal_line_counts_name_both_files(folder: Path) -> None:
    write(folder, train_fr="A\nB\n")
    with pytest.raises(UserError, match=r"train\.en has 3 lines and .*train\.fr has 2"):
        load(folder)


def test_checked_text_is_kept_until_a_file_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load(folder)
    with monkeypatch.context() as patched:
        patched.setattr("triptych.data.pair_source.FilePair.__iter__", None)
        again = load(folder)
    assert (again.fingerprint, again.report) == (first.fingerprint, first.report)
    write(folder, train_en="a\nb\nz\n")
    assert texts(load(folder), "train")[0] == ["a", "b", "z"]


def test_a_fingerprint_does_not_depend_on_where_the_text_is(folder: Path) -> None:
    corpus = load(folder)
    in_memory = {name: Pairs(*texts(corpus, name)) for name in corpus.splits}
    assert Corpus("other", ("en", "fr"), in_memory, []).fingerprint == corpus.fingerprint


def test_bytes_that_are_not_utf8_name_file_and_line(folder: Path) -> None:
    write(folder, train_fr=b"A\nB\n\xe9\n")
    with pytest.raises(UserError, match=r"train\.fr:3 has bytes that are not UTF-8"):
        load(folder)


def test_half_a_gzip_file(folder: Path) -> None:
    (folder / "train.en").unlink()
    (folder / "train.en.gz").write_bytes(gzip.compress(b"a\nb\nc\n")[:-9])
    with pytest.raises(UserError, match=r"train\.en\.gz is not a complete gzip file"):
        load(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tgt": "de"}, r"neither '.*train\.de' nor 'train\.de\.gz'; 'train' exists in en, fr\."),
        (
            {"train": "training"},
            r"it has test\.en, train\.en, val\.en\. Give data\.train, .* the name without the ending \.en\.",
        ),
        ({"train": "training", "src": "de"}, r"no file there ends in '\.de'"),
        ({"dir": "nowhere"}, "the folder 'nowhere' does not exist"),
        ({"tgt": "en"}, "data.src and data.tgt are both en"),
        ({"test": "test"}, r"must be a list of test sets, such as data\.test=\[test\]"),
        ({"test": ["test", "test"]}, "two splits have the name 'test'"),
        ({"test": ["train"]}, "two splits have the name 'train'"),
        ({"max_length": 0}, r"data\.max_length=0 must be at least 1"),
        ({"max_length_ratio": 0.5}, r"data\.max_length_ratio=0\.5 must be at least 1"),
    ],
)
def test_mistakes(folder: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        load(folder, **changes)


def test_nothing_left(folder: Path) -> None:
    write(folder, train_en="\n\n", train_fr="A\nB\n")
    with pytest.raises(UserError, match="the train split of the corpus 'text' has no sentence pairs left"):
        load(folder)


def test_the_toy_corpus_follows_its_seed() -> None:
    def toy(seed: int) -> Corpus:
        return ToyCorpus(seed=seed, train=20, validation=5, test=5, test_long=5, max_length=None, max_length_ratio=None)

    assert toy(1).fingerprint == toy(1).fingerprint != toy(2).fingerprint
    assert toy(1).test_names == ["test", "test_long"]
    assert len(toy(1).splits["train"].src) == 20


@pytest.mark.parametrize("name", ["../../x", "/tmp/x", "", ".hidden", "a\nb"])
def test_a_name_leads_nowhere(name: str) -> None:
    """It names a folder in the cache, and led out of it."""
    pairs = Pairs(["a"], ["b"])
    with pytest.raises(UserError, match="is no plain name"):
        Corpus(name, ("en", "fr"), {"train": pairs, "validation": pairs})


def test_every_pair_belongs_to_a_section() -> None:
    pairs = Pairs(["a", "b", "c"], ["d", "e", "f"])
    sections = {"train": [Section(("en", "fr"), 1), Section(("en", "de"), 1)]}
    with pytest.raises(UserError, match=r"sections of the train split .* have 2 sentence pairs and the split has 3"):
        Corpus("parts", ("en", "fr", "de"), {"train": pairs, "validation": pairs}, sections=sections)
