"""``data.validation=SHARE`` and ``data.test=SHARE``: sets of the training pairs that are never also trained on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triptych.data.corpus import TextCorpus
from triptych.data.directions import Directions
from triptych.data.held_out import ranges_of_splits
from triptych.errors import UserError


def corpus(folder: Path, **changes: Any) -> TextCorpus:
    given: dict[str, Any] = {
        **{"name": "text", "src": "en", "tgt": "fr", "dir": str(folder), "train": "train", "validation": 0.1},
        **{"test": [], "cache": str(folder / "cache"), "max_length": None, "max_length_ratio": None},
        **{"directions": None, "pivot": None},
    }
    return TextCorpus(**{**given, **changes})


def write(folder: Path, lines: list[str]) -> None:
    (folder / "train.en").write_text("".join(f"{line}\n" for line in lines))
    (folder / "train.fr").write_text("".join(f"{line}-{number}\n" for number, line in enumerate(lines)))


def test_the_two_sides_are_all_pairs_and_share_no_source(tmp_path: Path) -> None:
    lines = [f"line {number % 1500}" for number in range(3000)]  # each source twice, with two translations
    write(tmp_path, lines)
    splits = corpus(tmp_path).splits
    sides = {name: list(zip(*splits[name], strict=True)) for name in ("train", "validation")}
    assert sorted(sides["train"] + sides["validation"]) == sorted(
        (line, f"{line}-{number}") for number, line in enumerate(lines)
    )
    sources = {name: {src for src, _ in pairs} for name, pairs in sides.items()}
    assert not sources["train"] & sources["validation"]
    assert 0.07 < len(sides["validation"]) / 3000 < 0.13
    order = [int(tgt.rpartition("-")[2]) for _, tgt in sides["validation"]]
    assert order == sorted(order), "the order of the file stays"


def test_pairs_stay_where_they_are_when_lines_are_added(tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(300)]
    write(tmp_path, lines)
    before = set(corpus(tmp_path).splits["validation"].src)
    write(tmp_path, ["new", "", *reversed(lines)])
    changed = corpus(tmp_path)
    assert set(changed.splits["validation"].src) - {"new"} == before
    assert "" not in [*changed.splits["train"].src, *changed.splits["validation"].src]
    assert any("held out of training" in line for line in changed.report)


def test_a_test_set_is_held_out_beside_the_validation_set(tmp_path: Path) -> None:
    lines = [f"line {number % 2000}" for number in range(4000)]
    write(tmp_path, [*lines, ""])
    alone, both = corpus(tmp_path), corpus(tmp_path, test=0.2)
    assert both.test_names == ["test"]
    assert list(both.splits["validation"].src) == list(alone.splits["validation"].src), "another share moves no pair"
    sides = {name: list(zip(*pairs, strict=True)) for name, pairs in both.splits.items()}
    assert sorted(pair for side in sides.values() for pair in side) == sorted(
        (line, f"{line}-{number}") for number, line in enumerate(lines)
    )
    sources = [{src for src, _ in side} for side in sides.values()]
    assert sum(map(len, sources)) == len(set.union(*sources)) == 2000
    assert 0.17 < len(sides["test"]) / 4000 < 0.23
    assert any(line.startswith("test: ") and line.endswith("(held out of training)") for line in both.report)
    write(tmp_path, [*reversed(lines), "more"])
    moved = corpus(tmp_path, test=0.2)
    assert {*moved.splits["test"].src} - {"more"} == {src for src, _ in sides["test"]}


def test_a_test_set_can_be_held_out_beside_validation_files(tmp_path: Path) -> None:
    write(tmp_path, [f"line {number}" for number in range(100)])
    for side in ("en", "fr"):
        (tmp_path / f"val.{side}").write_text("a\n")
    sizes = {name: len(pairs.src) for name, pairs in corpus(tmp_path, validation="val", test=0.3).splits.items()}
    assert sizes["validation"] == 1
    assert sizes["train"] + sizes["test"] == 100
    assert sizes["test"] > 10


@settings(max_examples=200)
@given(source=st.text(), validation=st.floats(1e-3, 0.999), test=st.floats(1e-3, 0.999))
def test_each_source_is_in_one_split(source: str, validation: float, test: float) -> None:
    try:
        ranges = ranges_of_splits(validation, test, Directions.of(None, "en", "fr", None))
    except UserError:
        assert validation + test >= 1 - 1e-9
    else:
        assert sum(one.has(source) for one in ranges.values()) == 1
        assert validation + test < 1 + 1e-9


def test_mistakes(tmp_path: Path) -> None:
    write(tmp_path, ["a", "b"])
    for share in (0, 1, 1.5, -0.1):
        with pytest.raises(UserError, match=rf"data\.validation={share} is no share"):
            corpus(tmp_path, validation=share)
        with pytest.raises(UserError, match=rf"data\.test={share} is no share"):
            corpus(tmp_path, test=share)
    with pytest.raises(UserError, match="for one direction"):
        corpus(tmp_path, directions=["en-fr", "fr-en"])
    with pytest.raises(UserError, match=r"data\.test=0\.1 is for one direction; give files, as data\.test=\[PREFIX\]"):
        corpus(tmp_path, validation="val", test=0.1, directions=["en-fr", "fr-en"])
    with pytest.raises(UserError, match=r"data\.validation=0\.5 and data\.test=0\.5 leave nothing to train on"):
        corpus(tmp_path, validation=0.5, test=0.5)
    with pytest.raises(UserError, match=r"data\.validation='5%' must be a number .*, such as 0\.05\."):
        corpus(tmp_path, validation="5%")
    with pytest.raises(UserError, match=r"data\.validation='0\.05' must be a number"):
        corpus(tmp_path, validation="0.05")
    with pytest.raises(UserError, match=r"validation split .* no sentence pairs left, .*: 0 pairs read from train"):
        corpus(tmp_path, validation=1e-9)
