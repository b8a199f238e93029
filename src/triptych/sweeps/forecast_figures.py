"""The figures of a forecast, and the sentences that say what they rest on."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from triptych.errors import UserError
from triptych.sweeps.forecast import Estimate


def figures(arms: Sequence[Estimate], price: float | None = None) -> pd.DataFrame:
    """Return a row for each arm in plain units. A price is that of training and evaluation.

    An arm that shares its training with one above costs only the disk of its own average. One that goes on from the
    trunk of a smaller budget costs the steps after it.

    Args:
        arms: estimated.
        price: price of one device for one hour; None for a table without prices.

    Raises:
        UserError: a price that is negative or no number.
    """
    if price is not None and not 0 <= price < math.inf:
        raise UserError(f"--price {price:g} is not allowed: give a number of at least 0.")
    shared = set.intersection(*(set(arm.overrides) for arm in arms)) if len(arms) > 1 else set()
    rows, seen = [], set[str]()
    for arm in arms:
        again = arm.training in seen
        seen.add(arm.training)
        share = 0.0 if again else _own_share(arm, arms)
        rows.append(
            {
                "arm": " ".join(one for one in arm.overrides if one not in shared) or "default",
                "parameters": arm.parameters,
                "steps": arm.steps,
                "tokens": round(share * arm.tokens),
                "flops": share * arm.flops,
                "seconds": share * arm.seconds,
                "evaluation_seconds": share * arm.validation_seconds + arm.translation_seconds,
                "disk_bytes": arm.averaged + (0 if again else arm.disk),
                "memory_bytes": arm.memory,
                "tokens_per_second": arm.tokens / arm.seconds,
                "measured": arm.measured,
                "shared": again,
            }
        )
    table = pd.DataFrame(rows)
    if price is not None:
        hours = (table["seconds"] + table["evaluation_seconds"]) / 3600
        table["price"] = price * hours * [arm.devices for arm in arms]
    return table


def _own_share(arm: Estimate, arms: Sequence[Estimate]) -> float:
    """Return the share of its steps that an arm trains itself, and not the arm whose trunk it goes on from."""
    shorter = (one for one in arms if arm.trunk and one.trunk == arm.trunk and one.steps < arm.steps)
    return 1 - max((one.trunk_steps for one in shorter), default=0) / arm.steps


def _share(value: float) -> str:
    return f"{value:.0%}" if value < 2 else f"{value:.1f} times as much"


def notes(arms: Sequence[Estimate], device: str | None, measure: int | None, pairs: int | None = None) -> list[str]:
    """Say where the times come from, a sentence each."""
    place, most = device or arms[0].device, max(arm.devices for arm in arms)
    trained = {arm.training: arm for arm in arms}.values()
    assumed = [arm for arm in trained if not arm.measured]
    of = f"{most} {place} GPUs" if most > 1 and device else place
    found = figures(arms)
    evaluation = found["evaluation_seconds"].sum() / found["seconds"].sum()
    lines = [
        f"Times: training on {of}. Validating, and translating validation and test sets, adds about "
        f"{_share(evaluation)}."
    ]
    if pairs is not None:
        lines.append(f"Text: none was read; {pairs:,} pairs of sentences as long as those of WMT'14 are assumed.")
    if most > 1:
        lines.append(
            f"Several devices: each step has a batch of each, so that a budget of steps trains on {most} times the "
            "tokens, and one of tokens or epochs takes fewer steps. Communication between devices is not counted."
        )
    if len(assumed) < len(trained):
        how = f"{measure} steps, trained just now" if measure else "an earlier training there"
        lines.append(f"{len(trained) - len(assumed)} of {len(trained)} times follow from the speed of {how}.")
    if assumed:
        shares = sorted({arm.utilisation for arm in assumed})
        reached = " to ".join(f"{share:.1%}" for share in sorted({shares[0], shares[-1]}))
        source = ", as models of these kinds reached on an H200" if all(arm.share_of_gpu for arm in assumed) else ""
        hint = "." if device or pairs else "; --measure 20 trains each for 20 steps to know better."
        lines.append(
            f"{len(assumed)} of {len(trained)} times, marked ~, assume {reached} of a peak of "
            f"{arms[0].peak / 1e12:,.3g} TFLOP/s{source}{hint}"
        )
    if arms[0].jobs > 1:
        lines.append(
            f"Each time is for the threads that an arm has when {arms[0].jobs} run at once. The sweep takes about the "
            f"sum divided by {arms[0].jobs}, and at least as long as its longest arm."
        )
    if any(_own_share(arm, arms) < 1 for arm in arms):
        lines.append("Arms that go on from the trunk of a smaller budget count the steps after it alone.")
    lines.append("Memory: weights, gradients, Adam's averages, and the activations of one batch, of each device.")
    return lines
