"""Recall of reference words by their frequency in training."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

from triptych.evaluation.word_recall import recall_by_frequency, training_counts, words_of


def test_words_are_lower_case_and_without_apostrophes() -> None:
    assert words_of("L'homme n'a pas dormi, est-ce vrai ?") == [
        *("l", "homme", "n", "a", "pas", "dormi", "est", "ce", "vrai"),
    ]


def test_counts_are_of_one_target_language() -> None:
    lines = ["Le chat.", "Die Katze.", "Le chien, le chat."]
    sections = [(("en", "fr"), 1), (("en", "de"), 1), (("de", "fr"), 1)]
    corpus: Any = SimpleNamespace(splits={"train": SimpleNamespace(tgt=lines)}, sections={"train": sections})
    assert training_counts(corpus, "fr") == {"le": 3, "chat": 2, "chien": 1}
    assert training_counts(corpus, "de") == {"die": 1, "katze": 1}


def test_recall_of_each_range() -> None:
    counts = Counter({"le": 100, "chat": 6, "hibou": 5, "dort": 50})
    references = ["Le hibou voit le chat.", "Le hibou dort."]
    translations = ["Le hibou le hibou.", "Le chat dort, dort."]
    found = {one["label"]: one for one in recall_by_frequency(translations, references, counts, [1, 6, 51])}
    assert list(found) == ["0", "1-5", "6-50", "51+"]
    # Never seen: voit. 1-5: hibou twice, one of them found. 6-50: chat and dort. More: le thrice, all found.
    assert [(one["found"], one["words"], one["recall"]) for one in found.values()] == [
        *((0, 1, 0.0), (1, 2, 0.5), (1, 2, 0.5), (3, 3, 1.0)),
    ]
    assert recall_by_frequency(["a"], ["b"], {"b": 9}, [1])[0] == {
        **{"label": "0", "low": 0, "high": 1, "words": 0, "found": 0, "recall": None},
    }
