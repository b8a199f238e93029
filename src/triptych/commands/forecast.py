"""``triptych forecast experiment=… scale=…``: what a sweep will cost, arm by arm, before anything is trained."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import pandas as pd
from rich.console import Console

from triptych.accounting.peaks import datasheet_peak
from triptych.config import schema
from triptych.errors import UserError
from triptych.reports.formats import to_rich
from triptych.reports.tables import Table, time_unit
from triptych.runs.folder import display_overrides
from triptych.sweeps.estimate import UTILISATION, Estimate, estimate
from triptych.sweeps.sweep import arms_of

FEWEST = 4
"""Optimizer steps that a speed is measured by; the first quarter warms up."""


def main(arguments: list[str]) -> int:
    """Prints a row an arm, and the sum.

    Raises:
        UserError: what the same command line would be refused for in training.
    """
    parser = argparse.ArgumentParser(
        prog="triptych forecast", description="What a run or a sweep will cost, before anything is trained."
    )
    parser.add_argument("--device", help="a GPU, by its name (default: where the strategy would train here)")
    parser.add_argument(
        "--measure",
        type=int,
        metavar="N",
        help="train each arm for N steps to know its speed on this machine",
    )
    given, overrides = parser.parse_known_args(arguments)
    for one in overrides:
        if one.startswith("-"):
            raise UserError(f"{one} is no option of forecast; it has --device and --measure, and overrides key=value.")
    if given.device:
        datasheet_peak(given.device)
    if given.measure is not None and given.device:
        raise UserError("--measure trains on this machine, which is no --device; give one of the two.")
    if given.measure is not None and given.measure < FEWEST:
        raise UserError(f"--measure {given.measure} is too few steps to know a speed by; give {FEWEST} or more.")
    schema.register()
    found = arms_of([*overrides, "-m"])
    assert found is not None
    measured: dict[str, float] = {}
    arms = [_estimate(arm, given.device, given.measure, measured, alone=len(found[1]) == 1) for arm in found[1]]
    if not arms:
        raise UserError("this sweeper chooses its arms as it goes along; forecast one of them.")
    shown = to_rich(Table("Forecast", table(arms), notes(arms, given.device, given.measure)))
    Console(width=None if Console().is_terminal else 200).print(shown)
    return 0


def _estimate(
    overrides: Sequence[str], device: str | None, measure: int | None, measured: dict[str, float], *, alone: bool
) -> Estimate:
    """``estimate``, whose refusal names the arm unless it is alone."""
    try:
        return estimate(overrides, device, measure, measured)
    except UserError as error:
        if alone:
            raise
        raise UserError(f"{' '.join(display_overrides(overrides))}: {error}") from error


def table(arms: Sequence[Estimate]) -> pd.DataFrame:
    """A row an arm, what an arm shares with another told once, and the sum."""
    shared = set.intersection(*(set(arm.overrides) for arm in arms)) if len(arms) > 1 else set()
    rows, seen = [], set()
    total = {"tokens": 0, "flops": 0.0, "disk": 0, "seconds": 0.0}
    unit, scale = time_unit(sum(arm.seconds for arm in arms))
    for arm in arms:
        again = arm.training in seen
        seen.add(arm.training)
        cost = {
            "tokens": 0 if again else arm.tokens,
            "flops": 0.0 if again else arm.flops,
            "disk": arm.averaged + (0 if again else arm.disk),
            "seconds": 0.0 if again else arm.seconds,
        }
        total = {key: total[key] + value for key, value in cost.items()}
        label = " ".join(one for one in arm.overrides if one not in shared) or "default"
        rows.append(
            [
                label,
                f"{arm.parameters / 1e6:.2f}",
                f"{arm.steps:,}",
                *_cells(cost, scale, again),
                f"{arm.memory / 1e9:.2f}",
                f"{'' if arm.measured else '~'}{arm.tokens / arm.seconds:,.0f}",
            ]
        )
    rows.append(["sum", "", "", *_cells(total, scale, False), f"{max(arm.memory for arm in arms) / 1e9:.2f}", ""])
    names = ["arm", "parameters (M)", "steps", "tokens (M)", "FLOPs", unit, "disk (GB)", "memory (GB)", "tokens/s"]
    return pd.DataFrame(rows, columns=pd.MultiIndex.from_tuples([("", name) for name in names]))


def _cells(cost: dict[str, float], scale: float, again: bool) -> list[str]:
    disk = f"{cost['disk'] / 1e9:.2f}"
    if again:
        return ["shared", "shared", "shared", disk]
    return [f"{cost['tokens'] / 1e6:.2f}", f"{cost['flops']:.2e}", f"{cost['seconds'] / scale:.2f}", disk]


def notes(arms: Sequence[Estimate], device: str | None, measure: int | None) -> list[str]:
    """Where the times are from."""
    place = device or arms[0].device
    assumed = sum(not arm.measured for arm in arms)
    lines = [f"Times of training on {place}, validation and translation of the test sets left out."]
    if assumed < len(arms):
        how = f"{measure} steps, trained just now" if measure else "an earlier training there"
        lines.append(f"Of {len(arms) - assumed} of {len(arms)} by the speed of {how}.")
    if assumed:
        peak = arms[0].peak
        hint = "." if device else "; --measure 20 trains each for 20 steps to know better."
        lines.append(
            f"Of {assumed} of {len(arms)}, with a ~, by an assumed {UTILISATION:.0%} of a peak of "
            f"{peak / 1e12:,.3g} TFLOP/s{hint}"
        )
    lines.append("Memory: weights, gradients, Adam's averages, and what one batch keeps for the backward pass in fp32.")
    return lines
