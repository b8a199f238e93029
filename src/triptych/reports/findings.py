"""The sentences around the first table: which arm is best and how sure that is, and how to read the differences."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from triptych.reports.analysis import Analysis
from triptych.reports.arm_rows import ArmRow, runs_of
from triptych.reports.comparisons import Comparisons
from triptych.reports.differences import find_rivals, rank, unsigned
from triptych.reports.labels import enumerate_labels
from triptych.reports.measures import LIKELIHOOD, Measure, share_tokenizer
from triptych.reports.published import Published, PublishedDifference
from triptych.reports.scores import TEST_NATS, VALIDATION_LOSS
from triptych.reports.statistics.difference import LEVEL, POWER
from triptych.reports.stored_run import test_sets
from triptych.reports.study import Study


def headline(rows: Sequence[ArmRow], analysis: Analysis) -> list[str]:
    """Return which arm is best, by how much, and how sure that is; empty if there are no two arms to compare.

    A sentence for the primary measure, and one for BLEU of each test set.
    """
    if analysis.primary is None:
        return []
    first = _best(rows, analysis.compared(analysis.primary), gap=True)
    others = [measure for measure in analysis.measures if measure != analysis.primary and measure.key == "bleu"]
    found = [*first, *(sentence for measure in others for sentence in _best(rows, analysis.compared(measure)))]
    if found and not analysis.has_seeds:
        how = "all have the weights of one training" if analysis.has_one_training else "each was trained once"
        found.insert(0, f"No arm can be called the best: {how}, and another seed could change the order.")
    return [" ".join(found)] if found else []


def _best(rows: Sequence[ArmRow], compared: Comparisons, *, gap: bool = False) -> list[str]:
    """Return the arm with the best value of a measure, and which others may be as good.

    Args:
        rows: the arms.
        compared: them, compared in the measure.
        gap: whether to say by how much it is ahead of the next.
    """
    ranked = rank(rows, compared)
    if len(ranked) < 2:
        return []
    best, second = ranked[:2]
    measure, rivals = compared.measure, find_rivals(rows, compared)
    if len(equal := [row.label for row in ranked if compared.mean(row) == compared.mean(best)]) > 1:
        return [f"{measure.superlative} {measure.title}: {enumerate_labels(equal)}, which are equal."]
    text = f"{measure.superlative} {measure.title}: {best.label}"
    if gap:
        side = "above" if measure.higher_is_better else "below"
        difference = fmean(compared.values(best.label)) - fmean(compared.values(second.label))
        text += f", {unsigned(difference, measure)} {measure.unit} {side} {second.label}"
    if rivals is None:
        return [f"{text}."]
    if rivals:
        others = enumerate_labels([row.label for row in rivals])
        return [f"{text}; corrected for all pairs of arms, not distinguishable from {others}."]
    others = "every other arm" if len(ranked) == len(rows) else f"the other {len(ranked) - 1} that were measured"
    return [f"{text}; ahead of {others} (all {1 - LEVEL:.0%} intervals exclude zero)."]


def how_to_read(rows: Sequence[ArmRow], analysis: Analysis, study: Study) -> list[str]:
    """Return which measure decides if it is not the planned one, and what the column of differences means."""
    measure = analysis.primary
    base = analysis.base(measure) if measure else None
    if measure is None or base is None:
        return []
    better, extreme = ("higher", "highest") if measure.higher_is_better else ("lower", "lowest")
    kind = "the reference" if base.arm == study.reference else f"the arm with the {extreme} value in this table"
    delta = f"Δ is the difference from {base.label}, {kind}, in {measure.unit} ({better} is better), before rounding."
    return [*stand_in(rows, measure, study), " ".join([delta, *explain_interval(rows, analysis, base)])]


def explain_interval(rows: Sequence[ArmRow], analysis: Analysis, base: ArmRow) -> list[str]:
    """Return what the intervals of the primary measure are, and the smallest difference that could have been found.

    Args:
        rows: the arms.
        analysis: what the runs say of them.
        base: the arm that the others are compared with.
    """
    if analysis.primary is None or (compared := analysis.compared(analysis.primary)).seeds is None:
        return []
    found = [difference for row in rows if row is not base and (difference := compared.difference(row, base))]
    if not found:
        return []
    measure = compared.measure
    others = "seeds and test sentences" if all(one.sentences is not None for one in found) else "seeds"
    smallest = max(one.smallest_detectable() for one in found)
    together = (
        f" for all {compared.comparisons} differences in this measure together" if compared.comparisons > 1 else ""
    )
    arms = compared.seeds.pooled.arms
    variance = (
        "the arms differ in their variance between seeds, so each interval has that of its own two arms."
        if compared.seeds.unequal
        else f"the variance between seeds is pooled over {arms} arm{'s' if arms > 1 else ''}."
    )
    return [
        f"Intervals: {1 - LEVEL:.0%}{together}, over {others}; {variance}",
        f"Power: a true difference of {unsigned(smallest, measure)} {measure.unit} would be found with a probability "
        f"of {POWER:.0%}.",
    ]


def stand_in(rows: Sequence[ArmRow], measure: Measure, study: Study) -> list[str]:
    """Return which measure decides in place of the likelihood of the test set, if one does."""
    if study.primary != LIKELIHOOD or measure.key == TEST_NATS:
        return []
    if not test_sets(runs_of(rows)):
        return ["No test set was read, so validation loss (nats a token) decides."]
    planned = "The likelihood of the test set was to decide, and not all runs stored it."
    if measure.key == VALIDATION_LOSS:
        return [f"{planned} Validation loss (nats a token) decides instead."]
    comparable = share_tokenizer(runs_of(rows))
    why = "" if comparable else " Losses of different tokenizers cannot be compared."
    return [f"{planned}{why} BLEU decides."]


def later_claims(study: Study) -> list[str]:
    """Return that the claims of a study are younger than its runs, if they are."""
    if not (study.claims and study.claims_are_younger):
        return []
    measure = ", and the measure that decides," if study.primary_is_younger else ""
    return [f"The claims{measure} were chosen when these runs were known."]


def explain_published(rows: Sequence[ArmRow], published: Published, reference: str | None) -> str:
    """Return what the published differences of a summary are, a clause for each metric, arm compared with, and source.

    Empty if there are none.
    """
    found: dict[tuple[str, str], list[PublishedDifference]] = {}
    for row in rows:
        if difference := published.difference(row.arm, reference):
            found.setdefault((difference.metric, difference.against), []).append(difference)
    labels = {row.arm: row.label for row in rows}
    clauses = [
        f"from {labels.get(base, base)}, in {metric} ({'; '.join(dict.fromkeys(each.source for each in differences))})"
        for (metric, base), differences in found.items()
    ]
    return f"Published Δ, in another set-up than ours: {'; '.join(clauses)}." if clauses else ""
