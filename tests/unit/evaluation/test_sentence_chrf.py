"""chrF of single sentences."""

from __future__ import annotations

import pytest

from triptych.evaluation.sentence_chrf import sentence_chrf


def test_values_by_hand() -> None:
    # "ab" and "ac" share one character of two and no pair: precision and recall are the means of 1/2 and 0.
    # "abc d" and "abcd" are the same characters, because chrF leaves out spaces.
    found = sentence_chrf(["ab", "abc d", "xy", "ab"], ["ac", "abcd", "ab", "ac"])
    assert found == pytest.approx([25, 100, 0, 25])


def test_recall_counts_twice_as_much_as_precision() -> None:
    short, long = sentence_chrf(["a", "ab"], ["ab", "a"])
    # Where one side is a single character there are no pairs to compare: P = 1, R = 1/2, and the other way round.
    # F2 = 5 P R / (4 P + R), the chrF2 that is sacreBLEU's default.
    assert (short, long) == pytest.approx((100 * 2.5 / 4.5, 100 * 2.5 / 3))


def test_a_line_too_few() -> None:
    with pytest.raises(ValueError, match="2 translations, 1 references"):
        sentence_chrf(["a", "b"], ["a"])
