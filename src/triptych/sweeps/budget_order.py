"""Which arms of a sweep can go on from the trunk of another (``training.trunk``), and so wait for it."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.config.composition import RunConfig
from triptych.runs.identity import BUDGET
from triptych.sweeps.jobs import training_of
from triptych.training.trunk import has_trunk


def smaller_budgets(run_configs: Sequence[RunConfig]) -> list[frozenset[str]]:
    """Return for each arm the trainings (``jobs.training_of``) with smaller budgets that have its trunk.

    Budgets in different units are not compared; such arms train all their steps themselves if they come too early.
    """
    trunks = [
        training_of(run_config, leaving_out=BUDGET) if has_trunk(run_config.config) else None
        for run_config in run_configs
    ]
    trainings = [training_of(run_config) for run_config in run_configs]
    budgets = [_budget(run_config) for run_config in run_configs]
    return [
        frozenset(
            other
            for other, other_trunk, (other_unit, other_size) in zip(trainings, trunks, budgets, strict=True)
            if trunk is not None and other_trunk == trunk and other_unit == unit and other_size < size
        )
        for trunk, (unit, size) in zip(trunks, budgets, strict=True)
    ]


def _budget(run_config: RunConfig) -> tuple[str, float]:
    """Return the unit and the size of a budget."""
    ((unit, size),) = ((str(key), value) for key, value in run_config.config.budget.items() if value is not None)
    return unit, float(size)
