"""What a claim of a study must say, checked before anything runs and again when a report reads it."""

from __future__ import annotations

from triptych.errors import UserError, require_one_of

EXPECTATIONS = ("better", "worse", "equal")
"""What a claim can expect of its arm."""


def check_claim(claim: str, *, expect: str, reference: str | None) -> None:
    """Check one claim.

    Args:
        claim: the claim in words.
        expect: what it expects of its arm.
        reference: the arm that it is compared with, the claim's own or the study's.

    Raises:
        UserError: it expects what no claim can, or has no arm to compare with.
    """
    require_one_of(EXPECTATIONS, f"study.claims ({claim})", expect=expect)
    if reference is None:
        raise UserError(f"study.claims ({claim}) has no arm to compare with; give the claim or the study a reference.")
