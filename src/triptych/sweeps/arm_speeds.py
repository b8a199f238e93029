"""Speeds of arms that each had an idle machine to itself, for reports that compare arms at equal seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from triptych import __version__
from triptych.accounting.peaks import processor_name
from triptych.accounting.threads import ALL_TICKS, CoreWatch
from triptych.errors import UserError
from triptych.runs.measured_speeds import ArmSpeed, MeasuredSpeeds
from triptych.sweeps.forecast import Estimate

JOBS = "jobs=1"
"""The override that gives each measured arm all threads."""


def refuse_company(measure: int | None) -> None:
    """Refuse to measure speeds for a report while other programs compute, those of low priority among them.

    Args:
        measure: optimizer steps to measure each arm for; None if nothing is to be measured.

    Raises:
        UserError: nothing is to be measured, or another program keeps a core busy.
    """
    if measure is None:
        raise UserError("--speeds keeps what was measured here; add --measure 60.")
    if busy := CoreWatch(ALL_TICKS).busy_cores():
        raise UserError(
            f"--speeds measures arms alone on an idle machine, and other programs keep {busy} of its cores busy; wait "
            "until they have ended."
        )


def speeds_of(arms: Sequence[Estimate], names: Sequence[str], measure: int) -> MeasuredSpeeds:
    """Return the speeds of arms that have been measured on this machine.

    Args:
        arms: the estimates of the arms, at least one.
        names: what reports call each.
        measure: optimizer steps that each was measured for.

    Raises:
        UserError: two arms have one name, as those do that differ in their seed alone.
    """
    if twice := sorted(name for name, times in Counter(names).items() if times > 1):
        raise UserError(f"--speeds measures each arm once, and {twice[0]} has several seeds; give one seed.")
    found = {
        name: ArmSpeed(tokens_per_second=arm.tokens / arm.seconds, parameters=arm.parameters)
        for name, arm in zip(names, arms, strict=True)
    }
    first = arms[0]
    return MeasuredSpeeds(first.device, processor_name(), first.precision, measure, __version__, found)
