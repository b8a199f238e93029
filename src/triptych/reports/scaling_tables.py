"""The tables of a study of scaling: which series to choose at which budget, and how two series compare."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from triptych.reports.equal_amounts import MOST_UNEQUAL
from triptych.reports.scaling import LEVELS, Scaling, interval
from triptych.reports.statistics.power_law import FEWEST
from triptych.reports.statistics.trend import Trend
from triptych.reports.table import MISSING, Table, make_cells, show_signed

INTERVAL = "[95% interval]"
NO_CROSSING = "none in the range measured"
_signed = partial(show_signed, decimals=3)


def budgets(scaling: Scaling) -> Table:
    """Return the table of series: exponent of each, and the loss of its fit at three budgets; best ones in bold.

    The budgets are the least and the most FLOPs that all frontiers reach, and their geometric mean.
    """
    ends, laws = scaling.shared_range, scaling.laws
    at = [ends[0], float(np.sqrt(ends[0] * ends[1])), ends[1]] if ends else []
    header = ["series", "arms on the frontier", f"exponent α {INTERVAL}"]
    header += [f"loss at {flops:.1e} FLOPs {INTERVAL}" for flops in at]
    lines = []
    for name, points in scaling.series.items():
        line = [name, f"{len(scaling.frontiers[name])} of {len(points)}"]
        if laws and name in scaling.fitted:
            s = scaling.fitted.index(name)
            line.append(_number(laws.exponents[s], [one.exponents[s] for one in scaling.resampled]))
            line += [_number(float(laws.loss(s, c)), [one.loss(s, c) for one in scaling.resampled]) for c in at]
        lines.append(line + [MISSING] * (len(header) - len(line)))
    names = list(scaling.series)
    lead, best = [], set()
    for column, flops in enumerate(at if len(scaling.fitted) > 1 else [], start=3):
        first, rivals = _lowest(scaling, flops)
        tail = f"not distinguishable from {' and '.join(rivals)}" if rivals else "ahead of every other"
        lead.append(f"At {flops:.1e} FLOPs the lowest loss is that of {first}; {tail}.")
        if not rivals:
            best.add((names.index(first), column))
    return Table(
        "Scaling",
        make_cells(header, lines),
        _how(scaling),
        best=frozenset(best),
        lead=[" ".join(lead)] if lead else [],
        best_note="Bold: lowest loss of the fits, where the intervals of its differences from all others exclude zero.",
    )


def pairs(scaling: Scaling) -> Table | None:
    """Return the table of pairs of series: where their curves cross, their exponents, and their gap by size."""
    found = list(combinations(scaling.series, 2))
    if not found:
        return None
    header = [
        "series",
        f"curves cross at FLOPs {INTERVAL}",
        f"difference of α {INTERVAL}",
        "exponents",
        "gap, smallest to largest",
        f"gap for each doubling of size {INTERVAL}",
        "with size the gap",
    ]
    lines = [
        [f"{one} − {other}", *_fits_compared(scaling, one, other), *_gap(scaling.trend(one, other))]
        for one, other in found
    ]
    notes = [
        f"Differences are those of the first series from the second. The gap is that of {scaling.measure.title} "
        f"({scaling.measure.unit}), between models whose non-embedding parameters agree within {MOST_UNEQUAL:.0%}, "
        "each with its longest training; its line over the logarithm of the size gives the gap at the smallest and the "
        "largest size, and the interval (t distribution).",
        "An interval that contains zero shows no difference; it does not show that there is none.",
    ]
    return Table("Series compared", make_cells(header, lines), notes, prose=frozenset({0, 1, 3, 6}))


def _lowest(scaling: Scaling, flops: float) -> tuple[str, list[str]]:
    """Return the series with the lowest fitted loss at a budget, and those whose loss may be as low."""
    laws = scaling.laws
    assert laws is not None
    first, *others = sorted(range(len(scaling.fitted)), key=lambda s: float(laws.loss(s, flops)))
    rivals = [
        scaling.fitted[s]
        for s in others
        if interval([one.loss(s, flops) - one.loss(first, flops) for one in scaling.resampled])[0] <= 0
    ]
    return scaling.fitted[first], rivals


def _fits_compared(scaling: Scaling, one: str, other: str) -> list[str]:
    """Return where two fitted curves cross, the difference of their exponents, and what it says."""
    laws = scaling.laws
    if laws is None or not {one, other} <= {*scaling.fitted}:
        return [MISSING] * 3
    i, j = scaling.fitted.index(one), scaling.fitted.index(other)
    differences = [each.exponents[i] - each.exponents[j] for each in scaling.resampled]
    low, high = interval(differences)
    shown = _number(laws.exponents[i] - laws.exponents[j], differences, signed=True)
    return [_crossing(scaling, i, j), shown, "no difference found" if low <= 0 <= high else "differ"]


def _crossing(scaling: Scaling, i: int, j: int) -> str:
    """Return the FLOPs at which two fitted curves cross, within the FLOPs that both frontiers cover."""
    assert scaling.laws is not None
    fronts = [scaling.frontiers[scaling.fitted[s]] for s in (i, j)]
    low, high = max(points[0].flops for points in fronts), min(points[-1].flops for points in fronts)
    found = scaling.laws.crossing(i, j)
    crossings = np.array([each.crossing(i, j) for each in scaling.resampled])
    if not low <= found <= high:
        inside = float(np.mean((low <= crossings) & (crossings <= high)))
        return f"{NO_CROSSING} ({inside:.0%} of the resamples cross there)"
    ends = np.percentile(crossings, LEVELS, method="nearest").tolist()
    shown = [f"below {low:.1e}" if c < low else f"above {high:.1e}" if c > high else f"{c:.1e}" for c in ends]
    return f"{found:.1e} [{', '.join(shown)}]"


def _gap(trend: Trend | None) -> list[str]:
    """Return the gap at both ends of the sizes, its change for each doubling, and what that says."""
    if trend is None:
        return [MISSING] * 3
    slope = f"{_signed(trend.slope)} [{_signed(trend.low)}, {_signed(trend.high)}]"
    return [f"{_signed(trend.start)} to {_signed(trend.end)}", slope, _course(trend)]


def _course(trend: Trend) -> str:
    """Say what happens to a gap as models grow."""
    if trend.low <= 0 <= trend.high:
        return "inconclusive"
    if trend.start * trend.end < 0:
        return "changes sides"
    return "narrows" if abs(trend.end) < abs(trend.start) else "widens"


def _how(scaling: Scaling) -> list[str]:
    """Return how the curves were fitted, and what their intervals cover."""
    if scaling.laws is None:
        return [f"No power law was fitted: no series has {FEWEST} arms on its frontier."]
    notes = [
        f"Power law L(C) = E + A · C^−α of {scaling.measure.title} over training FLOPs C. It is fitted to the frontier "
        "of each series: the arms that no arm with as few FLOPs equals or betters (Huber loss of log L, as Hoffmann et "
        "al. 2022). E, which all series share, is "
        f"{_number(scaling.laws.floor, [one.floor for one in scaling.resampled])}. The losses lie {scaling.misfit:.1%} "
        "from their curves (root mean square); where that is much more than another seed would change, they do not "
        "follow a power law.",
        f"Intervals: from {len(scaling.resampled)} resamples of the differences between points and curves, each "
        "interval by itself. They do not cover the choice of the frontier, and with one seed an arm they say little of "
        "other seeds.",
    ]
    if left := [name for name in scaling.series if name not in scaling.fitted]:
        notes.append(f"Not fitted, with fewer than {FEWEST} arms on the frontier: {', '.join(left)}.")
    return notes


def _number(value: float, resampled: Sequence[ArrayLike], *, signed: bool = False) -> str:
    """Return a number with the interval of its resamples."""
    show = _signed if signed else "{:.3f}".format
    low, high = interval(resampled)
    return f"{show(value)} [{show(float(low))}, {show(float(high))}]"
