"""The exception for mistakes that a user can correct, and checks of single values that raise it."""

from __future__ import annotations

from collections.abc import Iterable


class UserError(Exception):
    """One clear sentence: what is wrong, where, and what to do. The command line prints it and exits with code 2."""


def require_at_least(minimum: float, section: str, **given: float | None) -> None:
    """Check keys of one section of the config against a minimum. None means "no limit" and passes.

    Raises:
        UserError: a value is below the minimum.
    """
    for key, value in given.items():
        if value is not None and not value >= minimum:
            raise UserError(f"{section}.{key}={value} must be at least {minimum}.")


def require_probability(section: str, **given: float) -> None:
    """Check that keys of one section of the config are at least 0 and below 1.

    Raises:
        UserError: a value is outside this range.
    """
    for key, value in given.items():
        if not 0 <= value < 1:
            raise UserError(f"{section}.{key}={value} is no probability; give 0 or more, and less than 1.")


def require_one_of(options: Iterable[str], section: str, **given: str) -> None:
    """Check that keys of one section of the config (``""``: its top level) have one of the allowed values.

    Raises:
        UserError: a value is not among the options.
    """
    for key, value in given.items():
        if value not in options:
            name = f"{section}.{key}" if section else key
            raise UserError(f"{name}={value} is unknown; choose one of {', '.join(options)}.")
