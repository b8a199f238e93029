"""What a claim of a study must say, checked before anything runs and again when a report reads it."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.errors import UserError, require_one_of

EXPECTATIONS = ("better", "worse", "equal")
"""What a claim can expect of its arm."""


def check_claim(
    claim: str,
    *,
    expect: str,
    reference: str | None,
    measure: str | None = None,
    test_set: str | None = None,
    baseline_test_set: str | None = None,
    published: Sequence[str] = (),
) -> None:
    """Check one claim.

    Args:
        claim: the claim in words.
        expect: what it expects of its arm.
        reference: the arm that it is compared with, the claim's own or the study's.
        measure: the measure that decides; None for the study's primary one.
        test_set: the test set of the measure; None for the first.
        baseline_test_set: the test set whose difference is subtracted, if any.
        published: the rows of published.csv that it names.

    Raises:
        UserError: it expects what no claim can, has no arm to compare with, names one or many published rows, or has a
            baseline without a measure of two test sets.
    """
    require_one_of(EXPECTATIONS, f"study.claims ({claim})", expect=expect)
    if reference is None:
        raise UserError(f"study.claims ({claim}) has no arm to compare with; give the claim or the study a reference.")
    if len(published) not in (0, 2):
        raise UserError(
            f"study.claims ({claim}).published must be two rows of published.csv, whose difference is the published "
            f"figure, or none, not {', '.join(published)}."
        )
    if baseline_test_set is None:
        return
    if test_set in (None, baseline_test_set) or measure in (None, "loss"):
        raise UserError(
            f"study.claims ({claim}) has the baseline_test_set {baseline_test_set}; give it another test_set, and a "
            "measure of test sets, such as nats_per_word."
        )
