"""Scores of text that is not plain are not comparable, so it is refused by what it is."""

from __future__ import annotations

import pytest

from triptych.errors import UserError
from triptych.evaluation.plain_text import require_plain_text

PLAIN = ["A dog, asleep.", "It's red.", "Two men talk.", "Stop!"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["▁A ▁dog , ▁asleep .", *PLAIN[1:]], "pieces of a tokenizer"),
        (["A do@@ g, asleep.", *PLAIN[1:]], "pieces of a tokenizer"),
        (["A dog , asleep .", "It 's red .", *PLAIN[2:]], "tokenised text (' ,') in 50% of its lines"),
        (["It&apos;s red.", *PLAIN[1:]], "escaped text"),
    ],
)
def test_it_is_named(lines: list[str], said: str) -> None:
    with pytest.raises(UserError) as refused:
        require_plain_text(lines, PLAIN, "hypothesis=x")
    assert str(refused.value).startswith("hypothesis=x is ")
    assert said in str(refused.value)


@pytest.mark.parametrize("lines", [PLAIN, ["", "", "", ""], ["Stop !", "Non ; oui : si ?", *PLAIN[2:]]])
def test_plain_text_passes(lines: list[str]) -> None:
    require_plain_text(lines, PLAIN, "hypothesis=x")


def test_references_that_are_tokenised_too_are_compared() -> None:
    lines = ["A dog , asleep ."] * 4
    require_plain_text(lines, lines, "hypothesis=x")
