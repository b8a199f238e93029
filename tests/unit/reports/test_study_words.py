"""Kept results take the words of claims from the study's file, and what the claims test from their runs."""

from __future__ import annotations

from dataclasses import replace

from triptych.reports.statistics.verdict import Expectation
from triptych.reports.study import Claim, reworded

OLD = Claim("Small keys hurt a lot", "B1", "base", Expectation.WORSE)


def test_a_claim_takes_the_words_of_the_one_that_tests_the_same() -> None:
    new = replace(OLD, claim="Small keys hurt", source="Somebody", published=("B1", "base"))
    assert reworded([OLD], [new]) == (new,)


def test_a_claim_that_no_present_one_tests_stays_as_it_is() -> None:
    others = [replace(OLD, expect=Expectation.BETTER), replace(OLD, measure="bleu"), replace(OLD, arm="B2")]
    assert reworded([OLD], others) == (OLD,)


def test_of_claims_that_test_the_same_each_takes_its_own_words() -> None:
    kept, first, second = (replace(OLD, claim=words) for words in ("kept", "one", "two"))
    one, two = replace(first, claim="first"), replace(second, claim="second")
    assert reworded([first, kept, second], [one, two, kept]) == (one, kept, two)
    assert reworded([first, kept, second], [kept]) == (first, kept, second)
