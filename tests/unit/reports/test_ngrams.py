"""Which n-grams of the references arms have."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.reports.ngrams import matched_ngrams

LINES = st.lists(st.lists(st.sampled_from("abc"), max_size=6).map(" ".join), min_size=3, max_size=3)


def test_counts_by_hand() -> None:
    references = ["The cat sees the dog.", "A dog sleeps."]
    one = [["The the the cat!", "a cat sleeps"], ["the dog", ""]]
    other = [["the cat sees the dog", "A dog sleeps"]]
    found = matched_ngrams({"one": one, "other": other}, references)
    assert found.loc[(1, "the", 2)].to_dict() == {"one": 1.5, "other": 2}, "clipped at the reference, mean over seeds"
    assert found.loc[(1, "dog", 2)].to_dict() == {"one": 0.5, "other": 2}, "a dog in another sentence is no match"
    assert found.loc[(2, "the cat", 1)].to_dict() == {"one": 0.5, "other": 1}
    assert found.loc[(4, "cat sees the dog", 1)].to_dict() == {"one": 0, "other": 1}
    assert "sees sleeps" not in found.index.get_level_values("ngram"), "no n-gram crosses sentences"


@given(LINES, LINES)
def test_matches_are_those_of_a_plain_count(translations: list[str], references: list[str]) -> None:
    found = matched_ngrams({"arm": [translations]}, references)["arm"]
    for (order, ngram, _), matches in found.items():
        expected = 0
        for pair in zip(translations, references, strict=True):
            words = [line.split() for line in pair]
            counts = [
                Counter(" ".join(line[i : i + order]) for i in range(len(line) - order + 1))[ngram] for line in words
            ]
            expected += min(counts)
        assert matches == pytest.approx(expected)
