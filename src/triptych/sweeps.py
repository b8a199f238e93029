"""What a sweep is made of: its arms, which run each became, and how far each has come."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from triptych.errors import UserError


@dataclass(frozen=True)
class Arm:
    """One arm of a sweep, as ``arms/<place>-<hash>.json`` of the sweep's folder has it.

    Attributes:
        study: the study that it belongs to, if any.
        place: where it stands in the sweep.
        overrides: what it sets, the seed with it.
        run: the name of its run's folder; None while it has none.
        status: ``waiting``, ``running``, ``finished`` or ``failed``.
        reason: why it failed, in a line.
    """

    study: str | None
    place: int
    overrides: tuple[str, ...]
    run: str | None
    status: str
    reason: str | None


def read_arms(folder: Path) -> list[Arm]:
    """The arms of the sweep that wrote its runs to ``folder``, in their order; none where no sweep did.

    Raises:
        UserError: an arm's file cannot be read.
    """
    arms = []
    for path in sorted((folder / "arms").glob("*.json")):
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            arms.append(Arm(**{**told, "overrides": tuple(told["overrides"])}))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UserError(f"{path} cannot be read ({error}); delete it and run the sweep again.") from error
    return sorted(arms, key=lambda arm: arm.place)
