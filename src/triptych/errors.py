"""The one exception for mistakes that a user can make and mend, and the checks of single values that raise it."""

from __future__ import annotations

from collections.abc import Iterable


class UserError(Exception):
    """One clear sentence: what is wrong, where, and what to do. The command line prints it and exits with 2."""


def require_at_least(minimum: float, section: str, **given: float | None) -> None:
    """Raises ``UserError`` for a key of a section of the config that is below the minimum; None is no limit."""
    for key, value in given.items():
        if value is not None and not value >= minimum:
            raise UserError(f"{section}.{key}={value} must be at least {minimum}.")


def require_probability(section: str, **given: float) -> None:
    """Raises ``UserError`` for a key of a section of the config that is below 0, or not below 1."""
    for key, value in given.items():
        if not 0 <= value < 1:
            raise UserError(f"{section}.{key}={value} is no probability; give 0 or more, and less than 1.")


def require_one_of(options: Iterable[str], section: str, **given: str) -> None:
    """Raises ``UserError`` for a key of a section of the config whose value is none of the options."""
    for key, value in given.items():
        if value not in options:
            raise UserError(f"{section}.{key}={value} is unknown; choose one of {', '.join(options)}.")
