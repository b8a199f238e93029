"""Joined lines: every line is used, both sides alike, in groups that the numbers allow; and nothing changes without."""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from conftest import WORDS
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from triptych.data import store
from triptych.data.corpus import Corpus, TextCorpus, ToyCorpus
from triptych.data.joining import join_splits
from triptych.data.pairs import Pairs, Section
from triptych.data.text_file import JoinedLines
from triptych.data.tokenizer import SentencePieceTrainer
from triptych.errors import UserError

DIRECTION = ("en", "fr")


def numbered(count: int, name: str = "") -> Pairs:
    """Lines that say which they are."""
    return Pairs([f"{name}{i}" for i in range(count)], [f"{name.upper()}{i}" for i in range(count)])


def made(join: list[int] | None, train: int = 40, test: int = 10) -> Corpus:
    splits = {"train": numbered(train, "a"), "validation": numbered(9, "b"), "test": numbered(test, "c")}
    return Corpus("numbers", DIRECTION, splits, join=join)


@given(st.integers(4, 60), st.lists(st.integers(1, 4), min_size=1, max_size=4, unique=True))
def test_training_uses_each_line_once_and_both_sides_alike(count: int, numbers: list[int]) -> None:
    numbers = sorted(numbers)
    src, tgt = made(numbers, train=count).splits["train"]
    assert " ".join(src).split() == numbered(count, "a").src
    assert [line.upper() for line in src] == list(tgt)
    sizes = [len(line.split()) for line in src]
    assert {*sizes[:-1]} <= {*numbers}
    assert 1 <= sizes[-1] <= numbers[-1]


def test_numbers_of_lines_are_equally_likely_and_the_same_each_time() -> None:
    src = made([1, 2, 3, 4], train=20_000).splits["train"].src
    sizes = [len(line.split()) for line in src]
    counts = Counter(sizes)
    expected = len(sizes) / 4
    assert all(abs(counts[number] - expected) < 4 * (expected * 0.75) ** 0.5 for number in (1, 2, 3, 4))
    assert sizes[:12] == [4, 2, 1, 2, 4, 3, 4, 2, 4, 2, 1, 1], "as in every version of NumPy"


def test_a_test_set_becomes_one_for_each_number_with_all_of_its_lines() -> None:
    corpus = made([1, 3, 4])
    assert corpus.test_names == ["test.x1", "test.x3", "test.x4"]
    assert list(corpus.splits["test.x1"].src) == [f"c{i}" for i in range(10)]
    assert list(corpus.splits["test.x3"].src) == ["c0 c1 c2", "c3 c4 c5", "c6 c7 c8", "c9"]
    assert list(corpus.splits["test.x4"].tgt) == ["C0 C1 C2 C3", "C4 C5 C6 C7", "C8 C9"]
    assert corpus.sections["test.x4"] == [(DIRECTION, 3)]
    assert corpus.report[-1] == "test.x4: 10 pairs joined into 3"


def test_a_thousand_captions_make_at_least_250_sentences() -> None:
    corpus = made([1, 2, 3, 4], test=1000)
    assert [len(corpus.splits[f"test.x{n}"].src) for n in (1, 2, 3, 4)] == [1000, 500, 334, 250]


def test_without_the_option_a_corpus_is_what_it_was() -> None:
    plain = Corpus("numbers", DIRECTION, {"train": numbered(4), "validation": numbered(4), "test": numbered(4)})
    assert plain.splits["train"] == numbered(4)
    assert plain.test_names == ["test"]
    toy = {"seed": 0, "train": 20, "validation": 5, "test": 5, "test_long": 5, "max_length": 256}
    assert ToyCorpus(**toy, max_length_ratio=None, join=None).fingerprint == "1fa9451d2c9eca72", "as before the option"


def test_the_numbers_are_part_of_the_fingerprint() -> None:
    prints = [made(join).fingerprint for join in (None, [1], [1, 2], [1, 2, 3], [2, 3])]
    assert len({*prints}) == len(prints)
    assert made([1, 2]).fingerprint == prints[2]


def test_no_line_is_joined_across_directions() -> None:
    splits = {"train": Pairs(*(a + b for a, b in zip(numbered(7, "x"), numbered(6, "y"), strict=True)))}
    sections = {"train": [Section(("en", "fr"), 7), Section(("fr", "de"), 6)]}
    joined, sizes, _ = join_splits(splits, sections, [2, 3])
    (first, one), (second, other) = sizes["train"]
    assert (first, second) == (("en", "fr"), ("fr", "de"))
    lines = list(joined["train"].src)
    assert len(lines) == one + other
    assert " ".join(lines[:one]).split() == numbered(7, "x").src
    assert " ".join(lines[one:]).split() == numbered(6, "y").src


def test_a_pivoted_test_set_is_joined_like_the_direct_one(tmp_path: Path) -> None:
    for split in ("train", "val", "test"):
        for language, words in WORDS.items():
            (tmp_path / f"{split}.{language}").write_text("".join(f"{word}\n" for word in words))
    settings = {"name": "text", "src": "fr", "tgt": "de", "dir": str(tmp_path), "train": "train", "validation": "val"}
    settings |= {"test": ["test"], "cache": str(tmp_path / "cache"), "max_length": None, "max_length_ratio": None}
    corpus = TextCorpus(**settings, directions=["fr-en", "en-de"], pivot="en", join=[1, 2])
    assert corpus.test_names == ["test.x1", "test.x2", "test.via_en.x1", "test.via_en.x2"]
    assert corpus.sections["test.via_en.x2"] == [(("fr", "en", "de"), 3)]
    assert list(corpus.splits["test.via_en.x2"].src) == list(corpus.splits["test.x2"].src)
    assert corpus.sections["train"][0].size == corpus.sections["train"][1].size


@given(st.lists(st.sampled_from(["", "a", "b c"]), min_size=1, max_size=12), st.data(), st.slices(12))
def test_joined_lines_equal_a_list(lines: list[str], data: st.DataObject, part: slice) -> None:
    ends = sorted(data.draw(st.sets(st.integers(1, len(lines)))) | {len(lines)})
    joined = JoinedLines(lines, np.array(ends))
    expected = [" ".join(line for line in lines[a:b] if line) for a, b in pairwise([0, *ends])]
    assert list(joined) == expected
    assert joined[part] == expected[part]
    assert [joined[i] for i in range(-len(expected), len(expected))] == expected * 2
    assert list(pickle.loads(pickle.dumps(joined))) == expected


def test_joined_text_is_encoded_and_kept_apart_in_the_cache(tmp_path: Path) -> None:
    corpora = [made(join) for join in (None, [1, 2, 3])]
    trainer = SentencePieceTrainer(algorithm="char", joint=True, byte_fallback=False, train_lines=None)
    for corpus in [*corpora, made([1, 2, 3])]:
        tokenizer = trainer.fit(corpus, tmp_path)
        found = store.prepare(corpus, tokenizer, tmp_path, None, None)["train"]
        ids = [found.pair(i)[0].tolist() for i in range(len(found))]
        assert tokenizer.decode(ids, "src") == list(corpus.splits["train"].src)
    assert len([*(tmp_path / "stores").glob("numbers-*")]) == 2


@pytest.mark.parametrize(
    ("join", "shown"),
    [
        ([], r"\[\]"),
        ([0, 1], r"\[0,1\]"),
        ([2, 1], r"\[2,1\]"),
        ([1, 1], r"\[1,1\]"),
        ([1.5], r"\[1\.5\]"),
        ([True, 2], r"\[True,2\]"),
        (OmegaConf.create([1, "x"]), r"\[1,x\]"),
        (4, "4"),
        ("1,2", "1,2"),
    ],
)
def test_wrong_numbers_are_refused(join: object, shown: str) -> None:
    with pytest.raises(UserError, match=rf"data\.join={shown} must be a list of ascending numbers of lines"):
        made(join)  # type: ignore[arg-type]


def test_a_split_that_is_too_small_is_named() -> None:
    with pytest.raises(UserError, match=r"data\.join joins up to 4 lines, and the test split has only 3, en to fr"):
        made([1, 4], test=3)
