"""Words for intervals: each only where the interval says so."""

from __future__ import annotations

import pytest

from triptych.config.claims import EXPECTATIONS
from triptych.reports.statistics.difference import Difference
from triptych.reports.statistics.seeds import SeedVariance
from triptych.reports.statistics.verdict import Expectation, Judgement, Verdict, judge_claim, judge_difference

# With 20 degrees of freedom and a standard error of 0.5 the interval is the estimate ± 1.04, for equivalence ± 0.86.
SEEDS = (SeedVariance(0.375, 20, 10),)


def estimated(estimate: float) -> Difference:
    return Difference(estimate, (3, 3), SEEDS)


@pytest.mark.parametrize(
    ("estimate", "higher_is_better", "margin", "word"),
    [
        (1.1, True, 1.0, "better"),
        (1.1, False, 1.0, "worse"),
        (-1.1, True, 1.0, "worse"),
        (-1.1, False, 1.0, "better"),
        (0.1, True, 1.0, "equivalent"),
        (0.1, True, None, "inconclusive"),
        (0.2, True, 1.0, "inconclusive"),
        (-1.0, True, 1.0, "inconclusive"),
    ],
)
def test_a_difference_is_judged_by_its_interval(
    estimate: float, higher_is_better: bool, margin: float | None, word: str
) -> None:
    found = judge_difference(estimated(estimate), higher_is_better=higher_is_better, margin=margin)
    assert found.word.value == word
    assert bool(found.reason) == (word == "inconclusive")


@pytest.mark.parametrize(
    ("estimate", "expected", "verdict"),
    [
        (2.0, Expectation.BETTER, Verdict.HELD),
        (2.0, Expectation.WORSE, Verdict.OPPOSITE),
        (2.0, Expectation.EQUAL, Verdict.OPPOSITE),
        (-2.0, Expectation.WORSE, Verdict.HELD),
        (-2.0, Expectation.BETTER, Verdict.OPPOSITE),
        (0.1, Expectation.EQUAL, Verdict.EQUIVALENT),
        (0.1, Expectation.BETTER, Verdict.EQUIVALENT),
        (0.9, Expectation.BETTER, Verdict.INCONCLUSIVE),
        (0.9, Expectation.EQUAL, Verdict.INCONCLUSIVE),
    ],
)
def test_a_claim_is_judged_by_the_interval(estimate: float, expected: Expectation, verdict: Verdict) -> None:
    assert judge_claim(estimated(estimate), expected, higher_is_better=True, margin=1.0).word is verdict


def test_a_small_difference_that_is_certain_makes_no_claim_of_equality_wrong() -> None:
    certain = Difference(0.2, (3, 3), (SeedVariance(0.0001, 20, 10),))
    assert judge_claim(certain, Expectation.EQUAL, higher_is_better=True, margin=1.0).word is Verdict.EQUIVALENT
    assert judge_claim(certain, Expectation.EQUAL, higher_is_better=True, margin=0.1).word is Verdict.OPPOSITE
    assert judge_claim(certain, Expectation.BETTER, higher_is_better=True, margin=1.0).word is Verdict.HELD


def test_one_seed_has_no_verdict() -> None:
    found = judge_claim(None, Expectation.BETTER, higher_is_better=True, margin=1.0)
    assert found == Judgement(Verdict.INCONCLUSIVE, "one seed")
    assert str(found) == "inconclusive: one seed"


def test_what_is_inconclusive_says_how_many_seeds_would_tell() -> None:
    needed = estimated(0.9).seeds_needed(1.0)
    found = judge_difference(estimated(0.9), higher_is_better=True, margin=1.0)
    assert str(found) == f"inconclusive: would need about {needed} seeds"
    many = Difference(0.9, (3, 3), SEEDS, sentence_variance=4.0, sentences=50)
    found = judge_difference(many, higher_is_better=True, margin=1.0)
    assert "not even 100 seeds would tell; more test sentences might" in str(found)
    noisy = Difference(0.9, (3, 3), (SeedVariance(400.0, 4, 2),), sentence_variance=4.0, sentences=50)
    found = judge_difference(noisy, higher_is_better=True, margin=1.0)
    assert str(found) == "inconclusive: not even 100 seeds would tell"


def test_what_a_config_may_expect_is_what_can_be_judged() -> None:
    assert {*EXPECTATIONS} == {each.value for each in Expectation}
