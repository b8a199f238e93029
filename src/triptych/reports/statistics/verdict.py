"""What an interval says about a claim, in one word."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from triptych.reports.statistics.difference import MOST_SEEDS, Difference, Interval


class Outcome(StrEnum):
    """What the interval of a difference says of an arm against another."""

    BETTER = "better"
    WORSE = "worse"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"


class Expectation(StrEnum):
    """What a claim expects of an arm against another."""

    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"


class Verdict(StrEnum):
    """What the measurements say of a claim.

    ``HELD`` and ``OPPOSITE``: the interval excludes zero. ``EQUIVALENT``: an equivalence test shows that the difference
    is smaller than the margin. ``INCONCLUSIVE``: neither.
    """

    HELD = "held"
    OPPOSITE = "opposite"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Judgement:
    """A word, and why it is not a stronger one.

    Attributes:
        word: what was found.
        reason: what is missing for a finding; empty if nothing is.
    """

    word: Outcome | Verdict
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.word.value}: {self.reason}" if self.reason else self.word.value


ONE_SEED = "one seed"
"""Why nothing is said of architectures that were trained once."""


def judge_difference(difference: Difference | None, *, higher_is_better: bool, margin: float | None) -> Judgement:
    """Return what a difference says of the arm that it is of.

    Args:
        difference: None if no arm has two seeds.
        higher_is_better: whether a higher value of the measure is better.
        margin: the difference that does not matter, in the measure's unit; None if nobody named one.
    """
    if difference is None:
        return Judgement(Outcome.INCONCLUSIVE, ONE_SEED)
    interval = difference.interval
    if interval.low > 0 or interval.high < 0:
        return Judgement(Outcome.BETTER if (interval.low > 0) == higher_is_better else Outcome.WORSE)
    if margin is not None and difference.is_within(margin):
        return Judgement(Outcome.EQUIVALENT)
    return Judgement(Outcome.INCONCLUSIVE, what_it_needs(difference, margin))


def judge_claim(
    difference: Difference | None, expected: Expectation, *, higher_is_better: bool, margin: float | None
) -> Judgement:
    """Return the verdict on a claim about two arms.

    A claim of a difference is ``HELD`` or ``OPPOSITE`` by the side of zero on which the whole interval lies. A claim of
    no difference is ``EQUIVALENT`` by the equivalence test, and else ``OPPOSITE`` if the interval excludes zero.

    Args:
        difference: the arm of the claim minus the arm that it is compared with; None if no arm has two seeds.
        expected: what the claim says of the arm.
        higher_is_better: as in ``judge_difference``.
        margin: as in ``judge_difference``.
    """
    found = judge_difference(difference, higher_is_better=higher_is_better, margin=margin)
    if found.word in (Outcome.EQUIVALENT, Outcome.INCONCLUSIVE):
        return Judgement(Verdict(found.word.value), found.reason)
    within = difference is not None and margin is not None and difference.is_within(margin)
    if expected is Expectation.EQUAL and within:
        return Judgement(Verdict.EQUIVALENT)
    return _of_side(found.word, expected)


def judge_interval(bounds: Interval, expected: Expectation, *, higher_is_better: bool, reason: str) -> Judgement:
    """Return the verdict on a claim about two arms by the interval of their difference alone.

    Args:
        bounds: of the arm of the claim minus the arm that it is compared with.
        expected: what the claim says of the arm.
        higher_is_better: as in ``judge_difference``.
        reason: why an interval that has zero in it is no narrower.
    """
    if bounds.low <= 0 <= bounds.high:
        return Judgement(Verdict.INCONCLUSIVE, reason)
    return _of_side(Outcome.BETTER if (bounds.low > 0) == higher_is_better else Outcome.WORSE, expected)


def _of_side(found: Outcome | Verdict, expected: Expectation) -> Judgement:
    """Return the verdict on a claim where one arm is better or worse than the other."""
    if expected is Expectation.EQUAL:
        return Judgement(Verdict.OPPOSITE, found.value)
    return Judgement(Verdict.HELD if found.value == expected.value else Verdict.OPPOSITE)


def what_it_needs(difference: Difference, margin: float | None) -> str:
    """Return how many seeds would probably tell, in words.

    They are enough to find the difference that was seen, or the margin if that is larger, with a probability of 80%.
    """
    true = max(abs(difference.estimate), margin or 0.0)
    found = difference.seeds_needed(true)
    if found is None:
        with_all_sentences = replace(difference, sentence_variance=0.0)
        helps = difference.sentence_variance and with_all_sentences.seeds_needed(true) is not None
        return f"not even {MOST_SEEDS} seeds would tell" + ("; more test sentences might" if helps else "")
    return f"would need about {max(found, min(difference.counts) + 1)} seeds"
