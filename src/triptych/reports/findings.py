"""The sentences below the first table: which arm is best and how sure that is, and how to read the differences."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.reports.analysis import Analysis
from triptych.reports.arm_rows import ArmRow
from triptych.reports.comparisons import Comparisons
from triptych.reports.differences import difference_of_best, find_rivals, rank, unsigned
from triptych.reports.measures import LIKELIHOOD, TEST_NATS, VALIDATION_LOSS, Measure
from triptych.reports.published import Published
from triptych.reports.statistics.difference import LEVEL, POWER
from triptych.reports.study import Study

MOST_NAMED = 3
"""Largest number of arms that a sentence names."""


def headline(rows: Sequence[ArmRow], analysis: Analysis) -> list[str]:
    """Return which arm is best, by how much, and how sure that is; empty if there are no two arms to compare."""
    if analysis.primary is None:
        return []
    compared = analysis.compared(analysis.primary)
    ranked = [row for row in rank(rows, compared) if compared.mean(row) is not None]
    if len(ranked) < 2:
        return []
    best, second = ranked[:2]
    measure, rivals = compared.measure, find_rivals(rows, compared)
    means = [compared.mean(row) or 0.0 for row in (best, second)]
    gap = _gap(means[0] - means[1], measure)
    ahead = f"{measure.superlative} {measure.title}: {best.label}, {gap} {second.label}."
    if rivals is None:
        return [f"{ahead} Each arm was trained once: another seed could change the order."]
    if rivals:
        return [f"{ahead} That is not settled: {_name(rivals)} may be as good."]
    found = difference_of_best(best, second, len(ranked), compared)
    assert found is not None
    low, high = sorted(abs(bound) for bound in (found.interval.low, found.interval.high))
    return [
        f"{ahead} It is ahead of every other arm ({1 - LEVEL:.0%} interval against {second.label}, corrected for all "
        f"pairs: {unsigned(low, measure)} to {unsigned(high, measure)})."
    ]


def how_to_read(rows: Sequence[ArmRow], analysis: Analysis, study: Study, published: Published) -> list[str]:
    """Return what the columns of differences mean, a sentence each."""
    measure = analysis.primary
    base = analysis.base(measure) if measure else None
    lines = []
    if measure is not None and base is not None:
        lines += [*_stand_in(measure, study), _difference(analysis.compared(measure), base, rows, study)]
    if any(analysis.leader(each) for each in analysis.measures):
        lines.append("Bold: best of its column, if its intervals against all other arms exclude zero.")
    return lines + _published(rows, published, study.reference)


def how_interval_is_made(rows: Sequence[ArmRow], analysis: Analysis, study: Study) -> list[str]:
    """Return which measure decides, and how the intervals of its differences were made, for a section on methods."""
    measure = analysis.primary
    base = analysis.base(measure) if measure else None
    if measure is None or base is None:
        return []
    compared = analysis.compared(measure)
    lines = [f"Primary outcome: {measure.title} ({measure.unit}).", _difference(compared, base, rows, study)]
    if compared.seeds is not None:
        lines.append(
            "Each interval is the difference ± t times the root of the variance over test sentences (paired) plus the "
            "variance between seeds, pooled over configurations, with Satterthwaite's degrees of freedom and "
            "Bonferroni's correction."
        )
    return lines


def _gap(gap: float, measure: Measure) -> str:
    side = "above" if measure.higher_is_better else "below"
    return f"{unsigned(gap, measure)} {measure.unit} {side}"


def _name(rows: Sequence[ArmRow]) -> str:
    """Return the labels of arms, some of them if there are many."""
    if len(rows) > MOST_NAMED:
        return f"{', '.join(row.label for row in rows[:MOST_NAMED])} and {len(rows) - MOST_NAMED} more"
    *first, last = [row.label for row in rows]
    return f"{', '.join(first)} and {last}" if first else last


def _stand_in(measure: Measure, study: Study) -> list[str]:
    """Return which measure stands in for the likelihood of the test set, if one does."""
    if study.primary != LIKELIHOOD or measure.key == TEST_NATS:
        return []
    if measure.key == VALIDATION_LOSS:
        return ["These runs did not store the likelihood of the test set. Validation loss (nats a token) stands in."]
    return [
        "These runs did not store the likelihood of the test set, and losses of different tokenizers cannot be "
        "compared. BLEU decides."
    ]


def _difference(compared: Comparisons, base: ArmRow, rows: Sequence[ArmRow], study: Study) -> str:
    """Return what Δ is, how its interval was made, and the smallest difference that could have been found."""
    measure = compared.measure
    kind = "the reference" if base.arm == study.reference else "the best arm"
    better = "higher" if measure.higher_is_better else "lower"
    text = f"Δ: against {base.label}, {kind}, in {measure.unit} ({better} is better)."
    if compared.seeds is None:
        return f"{text} There is no interval: each arm was trained once."
    found = [difference for row in rows if row is not base and (difference := compared.difference(row, base))]
    if not found:
        return text
    sampled = "seeds and sentences" if any(one.sentences is not None for one in found) else "seeds"
    smallest = max(one.smallest_detectable() for one in found)
    return (
        f"{text} Intervals cover {sampled}, at {1 - LEVEL:.0%} for all {compared.comparisons} differences together. "
        f"A true difference of {unsigned(smallest, measure)} would be found with a probability of {POWER:.0%}."
    )


def _published(rows: Sequence[ArmRow], published: Published, reference: str | None) -> list[str]:
    """Return what the published differences are, a clause for each metric and each arm compared with."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if difference := published.difference(row.arm, reference):
            found.setdefault((difference.metric, difference.against), []).append(row.label)
    several = len(found) > 1
    clauses = [
        f"{metric}, against {base}" + (f" ({', '.join(labels)})" if several else "")
        for (metric, base), labels in found.items()
    ]
    return [f"Published Δ: {'; '.join(clauses)}."] if clauses else []
