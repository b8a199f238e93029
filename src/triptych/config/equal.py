"""What a study may mean by equal, checked before anything runs and again when a report reads it."""

from __future__ import annotations

from collections.abc import Iterable

from triptych.errors import UserError, require_one_of

PARAMETERS, TOKENS, FLOPS, SECONDS = "parameters", "tokens", "flops", "seconds"
MEANINGS = (PARAMETERS, TOKENS, FLOPS, SECONDS)
"""Meanings under which the same runs can be compared."""


def check_equal(meanings: Iterable[str], stand_ins: Iterable[str]) -> None:
    """Check what a study means by equal.

    Args:
        meanings: those under which its arms are compared.
        stand_ins: names of further meanings, under which other arms stand in for some of them.

    Raises:
        UserError: a meaning is unknown, or a further one has the name of a known one.
    """
    for meaning in meanings:
        require_one_of(MEANINGS, "study", equal=meaning)
    for name in stand_ins:
        if name in MEANINGS:
            raise UserError(f"study.stand_ins has the meaning {name}, which study.equal can name; call it otherwise.")
