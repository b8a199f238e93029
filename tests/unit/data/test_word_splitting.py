"""Words and punctuation marks: what is split, and that the text comes back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.data import word_splitting


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("A man's dog.", ["A", "man", "￭'￭", "s", "dog", "￭."]),
        ("(l'eau.) !", ["(￭", "l", "￭'￭", "eau", "￭.", "￭)", "!"]),
        ("3,50 € , -5°", ["3", "￭,￭", "50", "€", ",", "-￭", "5", "￭°"]),
        ("नमस्ते e\u0301te\u0301", ["नमस्ते", "e\u0301te\u0301"]),  # vowel signs and accents belong to their word
        ("", []),
    ],
)
def test_marks_are_tokens_and_words_keep_no_joiner(text: str, tokens: list[str]) -> None:
    assert word_splitting.split(text) == tokens


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="▁￭")))
def test_any_text_comes_back_with_single_spaces(text: str) -> None:
    assert word_splitting.join(word_splitting.split(text)) == " ".join(text.split())
    assert not any(token[1:-1].count(" ") for token in word_splitting.split(text))


def test_tokens_in_an_order_that_no_text_has_are_joined_too() -> None:
    assert word_splitting.join(["￭.", "a", "￭'￭", "￭'￭", "b", "(￭"]) == ". a''b ("
