"""The table of differences: every arm against the reference in one measure, with intervals and what they say."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.reports.arm_rows import ArmRow
from triptych.reports.comparisons import Comparisons
from triptych.reports.measures import Measure
from triptych.reports.statistics.difference import LEVEL, POWER, Difference
from triptych.reports.statistics.dunnett import dunnett
from triptych.reports.statistics.randomization import random_seed
from triptych.reports.statistics.verdict import judge_difference
from triptych.reports.table import MISSING, Table, make_cells

INTERVAL = f"[{1 - LEVEL:.0%} interval]"
"""What the header of a difference with an interval ends with."""


def find_base(rows: Sequence[ArmRow], comparisons: Comparisons, reference: str | None) -> ArmRow | None:
    """Return the arm to compare with: the study's reference, or else the best arm; None if no two can be compared."""
    ranked = rank(rows, comparisons)
    named = [row for row in ranked if row.arm == reference]
    candidates = [*named, *ranked]
    return next(
        (base for base in candidates if any(row is not base and comparisons.can_compare(row, base) for row in ranked)),
        None,
    )


def rank(rows: Sequence[ArmRow], comparisons: Comparisons) -> list[ArmRow]:
    """Return the arms that have a value, the best first."""
    means = {row.label: mean for row in rows if (mean := comparisons.mean(row)) is not None}
    sign = -1 if comparisons.measure.higher_is_better else 1
    return sorted((row for row in rows if row.label in means), key=lambda row: sign * means[row.label])


def find_leader(rows: Sequence[ArmRow], comparisons: Comparisons) -> ArmRow | None:
    """Return the arm whose intervals against all other arms exclude zero, if there is one."""
    rivals = find_rivals(rows, comparisons)
    return None if rivals is None or rivals else rank(rows, comparisons)[0]


def find_rivals(rows: Sequence[ArmRow], comparisons: Comparisons) -> list[ArmRow] | None:
    """Return the arms that may be as good as the best: those whose intervals against it do not exclude zero.

    Which arm is the best is chosen by the same figures, so the intervals are corrected for all pairs of arms. None if
    there are no two arms, or no intervals.
    """
    ranked = rank(rows, comparisons)
    if len(ranked) < 2 or comparisons.seeds is None:
        return None
    best, *others = ranked
    pairs = len(ranked) * (len(ranked) - 1) // 2
    return [
        other
        for other in others
        if (difference := comparisons.difference(best, other, pairs)) is None
        or difference.interval.low <= 0 <= difference.interval.high
    ]


def show(difference: Difference | None, estimate: float | None, measure: Measure) -> str:
    """Return ``Δ [low, high]``, or Δ alone without an interval."""
    if estimate is None:
        return MISSING
    if difference is None:
        return measure.text(estimate)
    bounds = difference.interval
    return f"{measure.text(estimate)} [{measure.text(bounds.low)}, {measure.text(bounds.high)}]"


def show_p(p: float) -> str:
    """Return a p-value with four decimals."""
    return f"{p:.4f}" if p >= 0.0001 else "< 0.0001"


def unsigned(difference: float, measure: Measure) -> str:
    """Return the size of a difference, without a sign."""
    return f"{abs(difference):.{measure.decimals}f}"


def compare(rows: Sequence[ArmRow], comparisons: Comparisons, reference: str | None) -> Table | None:
    """Return a table of every arm against the reference, or against the best arm if there is no reference.

    Args:
        rows: all rows of the report, in its order. What cannot be compared shows dashes.
        comparisons: the arms compared in one measure.
        reference: the arm to compare with, if a study has one.

    Returns:
        Columns arm, the measure, Δ with its interval, verdict and seeds. The lines are in the order of ``rows``, or,
        without a reference, the best arm first. None if no two arms can be compared.
    """
    base = find_base(rows, comparisons, reference)
    if base is None:
        return None
    measure, is_named = comparisons.measure, base.arm == reference
    ranked = rank(rows, comparisons)
    shown = list(rows) if is_named else [*ranked, *(row for row in rows if row not in ranked)]
    found = {row.label: comparisons.difference(row, base) for row in shown if row is not base}
    cells = [_cells(row, base, comparisons, found.get(row.label)) for row in shown]
    names = ("arm", measure.name, f"Δ {INTERVAL}" if comparisons.seeds else "Δ", "verdict", "seeds")
    notes = [
        f"Against {base.label}, the {'reference' if is_named else 'best arm'}, in {measure.unit}; "
        f"{'higher' if measure.higher_is_better else 'lower'} is better.",
        *_design(comparisons, [difference for difference in found.values() if difference]),
    ]
    if not is_named and reference is not None:
        notes.append(f"The study's reference, {reference}, is not among these arms.")
    verdicts = frozenset({0, names.index("verdict")})
    return Table(f"Differences, {measure.title}", make_cells(names, cells), notes, shown, prose=verdicts)


def compare_seeds(rows: Sequence[ArmRow], comparisons: Comparisons, reference: str | None) -> Table | None:
    """Return Dunnett's test of every arm against the reference, on seeds alone; None if no seeds repeat.

    Args:
        rows: the rows of the report.
        comparisons: the arms compared in one measure.
        reference: the arm to compare with, if a study has one.
    """
    base = find_base(rows, comparisons, reference)
    if base is None:
        return None
    arms = {row.label: comparisons.values(row.label) for row in rows if row is not base}
    found = dunnett(
        {label: values for label, values in arms.items() if values}, comparisons.values(base.label), seed=random_seed()
    )
    if not found:
        return None
    measure = comparisons.measure
    shown = [row for row in rows if row.label in found]
    cells = [
        [
            row.label,
            f"{measure.text(test.estimate)} [{measure.text(test.interval.low)}, {measure.text(test.interval.high)}]",
            show_p(test.p),
        ]
        for row in shown
        for test in (found[row.label],)
    ]
    header = ("arm", f"Δ {INTERVAL}", "p")
    note = (
        f"Against {base.label}, by scipy.stats.dunnett: seeds alone, as if these test sentences were all there are; "
        "corrected for the number of arms. Verdicts are not made from it."
    )
    return Table(f"Dunnett's test, {measure.title}", make_cells(header, cells), [note], shown)


def _cells(row: ArmRow, base: ArmRow, comparisons: Comparisons, difference: Difference | None) -> list[str]:
    measure, mean = comparisons.measure, comparisons.mean(row)
    value = MISSING if mean is None else f"{mean:.{measure.decimals}f}"
    seeds = str(len(comparisons.values(row.label)))
    if row is base:
        return [row.label, value, "", "", seeds]
    estimate = comparisons.estimate(row, base)
    if estimate is None:
        return [row.label, value, MISSING, MISSING, MISSING if mean is None else seeds]
    judged = judge_difference(difference, higher_is_better=measure.higher_is_better, margin=measure.margin)
    return [row.label, value, show(difference, estimate, measure), str(judged), seeds]


def _design(comparisons: Comparisons, found: Sequence[Difference]) -> list[str]:
    """Return how the intervals were made, and what they could have found."""
    measure, seeds = comparisons.measure, comparisons.seeds
    if seeds is None:
        return [
            "Each arm was trained once, so how much another seed would change is not known: there is no interval, and "
            "no verdict on the architectures."
        ]
    if not found:
        return []
    known = any(difference.sentences is not None for difference in found)
    sampled = "sentences (paired) and seeds" if known else "seeds (sentences are not resampled for this measure)"
    smallest = [difference.smallest_detectable() for difference in found]
    low, high = (f"{bound:.{measure.decimals}f}" for bound in (min(smallest), max(smallest)))
    margin = "" if measure.margin is None else f" Equivalent: two one-sided tests within ±{measure.margin:g}."
    together = (
        f" for all {comparisons.comparisons} differences together (Bonferroni)" if comparisons.comparisons > 1 else ""
    )
    pooled = seeds.pooled
    spread = f"{pooled.variance**0.5:.{measure.decimals + 1}f}"
    between = (
        "the arms differ in theirs, so each difference has those of its two arms"
        if seeds.unequal
        else f"standard deviation of a seed {spread}, pooled over {pooled.arms} arm{'s' if pooled.arms > 1 else ''}"
    )
    return [
        f"Interval: t with Satterthwaite's degrees of freedom over the variance of {sampled} ({between}), at "
        f"{1 - LEVEL:.0%}{together}.{margin}",
        f"Smallest true difference that this design finds with a probability of {POWER:.0%}: "
        + (low if low == high else f"{low} to {high}")
        + f" {measure.unit}.",
    ]
