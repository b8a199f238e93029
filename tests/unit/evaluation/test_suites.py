"""Scoring contrastive suites, over translators whose likelihoods are known."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from triptych.data.contrast import ContrastiveItem, items_digest
from triptych.data.corpus import ToyCorpus
from triptych.data.toy_mistakes import words_of
from triptych.errors import UserError
from triptych.evaluation.suites import check_suites, evaluate_suites, save_suites
from triptych.runs.folder import RunFolder

SUITE = [
    ContrastiveItem("plural", "two cats", "deux chats", "deux chat"),
    ContrastiveItem("singular", "a cat", "un chat", "un chats"),
    ContrastiveItem("plural", "two dogs", "deux chiens", "deux chien"),
]
CORPUS: Any = SimpleNamespace(name="mine", suites=lambda items: {"number": SUITE[:items]})


def translator(log_probability: Callable[[str, str], float]) -> Any:
    def score(src: Sequence[str], tgt: Sequence[str], search_tokens: int) -> list[float]:
        return [log_probability(*pair) for pair in zip(src, tgt, strict=True)]

    return SimpleNamespace(score=score)


def test_an_item_is_solved_if_its_right_translation_is_likelier() -> None:
    found = evaluate_suites(translator(lambda _, target: float(len(target))), CORPUS, 3, 100)["number"]
    assert found.margins == [1.0, -1.0, 1.0]
    assert found.scores == {
        "items": 3,
        "right": 2,
        "accuracy": 2 / 3,
        "by_kind": {"plural": {"items": 2, "right": 2}, "singular": {"items": 1, "right": 0}},
        "text": items_digest(SUITE),
    }


def test_an_item_whose_translations_are_equally_likely_is_not_solved() -> None:
    assert evaluate_suites(translator(lambda *_: -1.0), CORPUS, 3, 100)["number"].scores["right"] == 0


def test_a_model_that_sees_no_order_solves_half_of_the_pairs_of_order() -> None:
    def blind(source: str, target: str) -> float:
        return zlib.crc32(f"{sorted(words_of(source))} {target}".encode())

    corpus = ToyCorpus(seed=3, train=50, validation=1, test=1, test_long=1, max_length=None, max_length_ratio=None)
    found = evaluate_suites(translator(blind), corpus, 20, 100)
    assert found["word_order"].scores["right"] == 10


def test_what_is_saved(tmp_path: Path) -> None:
    save_suites(evaluate_suites(translator(lambda _, target: float(len(target))), CORPUS, 1, 9), RunFolder(tmp_path))
    (line,) = (tmp_path / "suites" / "number.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {**vars(SUITE[0]), "margin": 1.0}


def test_a_corpus_without_suites_is_refused() -> None:
    none: Any = SimpleNamespace(name="mine", suites=lambda items: {})
    with pytest.raises(UserError, match=r"suite_items=7: the corpus 'mine' has no suites"):
        check_suites(none, 7)
    with pytest.raises(UserError, match="suite_items=0 must be at least 1"):
        check_suites(CORPUS, 0)
