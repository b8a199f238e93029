"""Figures of translations that need no reference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.evaluation.outputs import repetition_rate


def test_repetition_by_hand() -> None:
    # Seven words have four 4-grams; "a b a b" is there twice, "b a b a" twice: two are new and two repeated.
    assert repetition_rate(["a b a b a b a"]) == 2 / 4
    assert repetition_rate(["a b a b a b a", "all words differ here"]) == 1 / 4, "the mean over sentences"
    assert repetition_rate(["a a a", ""]) == 0, "too short to have a 4-gram"
    with pytest.raises(ValueError, match="at least one"):
        repetition_rate([])


@given(st.lists(st.sampled_from("abc"), min_size=4, max_size=20), st.integers(2, 5))
def test_a_text_said_again_repeats_more(words: list[str], times: int) -> None:
    once, again = " ".join(words), " ".join(words * times)
    assert 0 <= repetition_rate([once]) < 1
    assert repetition_rate([again]) > repetition_rate([once])
