"""``data.validation=SHARE``: a validation set of the training pairs, never also trained on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from triptych.data.corpus import TextCorpus
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


def test_mistakes(tmp_path: Path) -> None:
    write(tmp_path, ["a", "b"])
    for share in (0, 1, 1.5, -0.1):
        with pytest.raises(UserError, match=rf"data\.validation={share} is no share"):
            corpus(tmp_path, validation=share)
    with pytest.raises(UserError, match="for one direction"):
        corpus(tmp_path, directions=["en-fr", "fr-en"])
    with pytest.raises(UserError, match=r"validation split .* no sentence pairs"):
        corpus(tmp_path, validation=1e-9)
