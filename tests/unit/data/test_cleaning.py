"""Cleaning: what each step drops, its counts, and that an interruption changes nothing."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.data.test_corpus import load, texts, write
from triptych.data import checked_text
from triptych.data.checked_text import Selection, read_text
from triptych.data.cleaning import NO_CLEANING, Cleaning
from triptych.data.pair_source import PairSource
from triptych.data.seen_hashes import SeenHashes
from triptych.data.text_file import LineWriter
from triptych.errors import UserError


def cleaning(**changes: Any) -> Cleaning:
    nothing = {"duplicates": False, "identical": False, "max_words": None, "max_word_ratio": None, "languages": False}
    return Cleaning(**{**nothing, **changes})


RATIO = "pairs whose longer side has more than {} times the words of the shorter"
PAIRS = [
    ("a b", "A B"),
    ("same", "same"),
    ("a b", "A B"),
    ("a b", "A"),
    ("one two three four", "eins"),
    ("a b", "A B"),
    ("w " * 9, "W " * 9),
]


@pytest.mark.parametrize(
    ("steps", "dropped"),
    [
        ({"duplicates": True}, {"duplicate pairs": [2, 5]}),
        ({"identical": True}, {"pairs of equal sides": [1]}),
        ({"max_words": 3}, {"pairs with a side of more than 3 words": [4, 6]}),
        ({"max_word_ratio": 3}, {RATIO.format("3"): [4]}),
        ({"max_word_ratio": 1.5, "duplicates": True}, {"duplicate pairs": [2, 5], RATIO.format("1.5"): [3, 4]}),
    ],
)
def test_each_step(steps: dict[str, Any], dropped: dict[str, list[int]]) -> None:
    cleaner = cleaning(**steps).start(("en", "de"))
    gone = set(itertools.chain.from_iterable(dropped.values()))
    assert cleaner.clean(PAIRS[:3]) + cleaner.clean(PAIRS[3:]) == [
        pair for i, pair in enumerate(PAIRS) if i not in gone
    ]
    assert cleaner.dropped == {reason: len(pairs) for reason, pairs in dropped.items()}


def test_languages() -> None:
    pairs = [
        ("The cat sleeps on the old table in the kitchen.", "Le chat dort sur la vieille table de la cuisine."),
        ("The cat sleeps on the old table in the kitchen.", "The cat sleeps on the old table in the kitchen."),
        ("Le chat dort sur la vieille table de la cuisine.", "The cat sleeps on the old table in the kitchen."),
    ]
    assert cleaning(languages=True).start(("en", "fr")).clean(pairs) == pairs[:1]
    with pytest.raises(UserError, match="py3langid does not know 'sov'; leave it false"):
        cleaning(languages=True).start(("en", "sov"))


@given(st.lists(st.lists(st.integers(0, 40), max_size=12), max_size=8))
def test_seen_hashes_are_a_set(blocks: list[list[int]]) -> None:
    seen, known = SeenHashes(), set[int]()
    for block in blocks:
        expected = []
        for value in block:
            expected.append(value not in known)
            known.add(value)
        assert seen.add(np.array(block, np.uint64)).tolist() == expected


def test_training_alone_is_cleaned(tmp_path: Path) -> None:
    for split in ("train", "val", "test"):
        write(tmp_path, **{f"{split}_en": "a\nb\na\n\n", f"{split}_fr": "A\nb\nA\nX\n"})
    corpus = load(tmp_path, clean=cleaning(duplicates=True, identical=True))
    assert texts(corpus, "train") == (["a"], ["A"])
    assert texts(corpus, "validation")[0] == texts(corpus, "test")[0] == ["a", "b", "a", ""]
    assert corpus.report[:4] == [
        "train: 4 pairs read from train.en and train.fr",
        "train: 1 pairs with an empty line dropped",
        "train: 1 duplicate pairs dropped",
        "train: 1 pairs of equal sides dropped",
    ]
    assert texts(load(tmp_path), "train")[0] == ["a", "b", "a"], "the cache keeps both apart"


class Numbers(PairSource):
    """Pairs of numbers; raises before pair ``fails_at``."""

    name = "numbers"
    identity = ("numbers",)

    def __init__(self, fails_at: int | str | None = None) -> None:
        self._fails_at = fails_at

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for i in range(98):
            if i == self._fails_at:
                raise KeyboardInterrupt
            yield str(i % 60), "" if i % 7 == 0 else str(i % 40)


def interrupted_after(calls: int, owner: Any, name: str) -> Any:
    original, left = getattr(owner, name), iter(range(calls))

    def call(*given: Any, **options: Any) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return original(*given, **options)

    return call


@pytest.mark.parametrize("clean", [NO_CLEANING, cleaning(duplicates=True, identical=True)])
@pytest.mark.parametrize("fails_at", [0, 5, 19, 20, 21, 47, 97, "close", "counts", "rename"])
def test_an_interruption_changes_nothing(
    clean: Cleaning, fails_at: int | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither while pairs are read, nor when the files are closed, when counts.json is written, or at the very end."""
    monkeypatch.setattr(checked_text, "_BLOCK_PAIRS", 5)
    monkeypatch.setattr(checked_text, "_BLOCKS_PER_RECORD", 2)
    selection = Selection(("en", "fr"), drop_empty=True, cleaning=clean)
    expected = read_text(Numbers(), tmp_path / "whole", selection)
    late = {"close": (LineWriter, "close"), "counts": (json, "dumps"), "rename": (Path, "rename")}
    with monkeypatch.context() as patched:
        if isinstance(fails_at, str):
            calls = 11 if fails_at == "counts" else 0  # the folder's key and ten records are JSON too
            patched.setattr(*late[fails_at], interrupted_after(calls, *late[fails_at]))
        with pytest.raises(KeyboardInterrupt):
            read_text(Numbers(fails_at), tmp_path / "cut", selection)
    again = read_text(Numbers(), tmp_path / "cut", selection)
    for found, whole in zip(again[0], expected[0], strict=True):
        assert (list(found), found.digest) == (list(whole), whole.digest)
    assert {key: again[1][key] for key in ("total", "empty", "dropped")} == {
        key: expected[1][key] for key in ("total", "empty", "dropped")
    }
    assert not [*tmp_path.rglob("*.journal")]


JOURNAL = '{{"total": {}, "empty": 0, "dropped": {{}}, "sizes": {}}}'


@pytest.mark.parametrize(
    "damage",
    [
        "{",
        '{"total": 20}',
        None,
        JOURNAL.format(20, "[9]"),
        JOURNAL.format(20, "[-5, -5]"),
        JOURNAL.format(-1, "[0, 0]"),
    ],
)
def test_a_damaged_journal_begins_anew(damage: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked_text, "_BLOCK_PAIRS", 5)
    monkeypatch.setattr(checked_text, "_BLOCKS_PER_RECORD", 2)
    selection = Selection(("en", "fr"), drop_empty=False)
    with pytest.raises(KeyboardInterrupt):
        read_text(Numbers(50), tmp_path, selection)
    (journal,) = tmp_path.glob("text/.*/text.journal")
    if damage is None:
        (journal.parent / "tgt.txt").write_text("")
    else:
        journal.write_text(damage)
    pairs, counts = read_text(Numbers(), tmp_path, selection)
    assert [*zip(*pairs, strict=True)] == [*Numbers()]
    assert counts["total"] == 98


def test_a_source_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    class Changing(Numbers):
        changes = 0

        @property
        def identity(self) -> list[int]:
            return [self.changes]

        def __iter__(self) -> Iterator[tuple[str, str]]:
            yield from super().__iter__()
            self.changes += 1

    source, selection = Changing(), Selection(("en", "fr"), drop_empty=False)
    with pytest.raises(UserError, match="numbers changed while it was read; give the same command again"):
        read_text(source, tmp_path, selection)
    assert not [*tmp_path.rglob("*.txt")]


def test_a_missing_package_loses_no_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked_text, "_BLOCK_PAIRS", 5)
    monkeypatch.setattr(checked_text, "_BLOCKS_PER_RECORD", 2)
    selection = Selection(("en", "fr"), drop_empty=True, cleaning=cleaning(languages=True))
    with pytest.raises(KeyboardInterrupt):
        read_text(Numbers(50), tmp_path, selection)
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    with pytest.raises(UserError, match=r"needs py3langid, .*\.\[langid\]"):
        read_text(Numbers(), tmp_path, selection)
    assert [*tmp_path.glob("text/.*/text.journal")]


def test_a_ratio_below_one_is_refused() -> None:
    with pytest.raises(UserError, match=r"data.clean.max_word_ratio=0.5 must be at least 1"):
        cleaning(max_word_ratio=0.5)
