"""The table of verdicts: each claim of a study beside the interval that decides it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from triptych.reports.arm_rows import ArmRow
from triptych.reports.comparisons import Comparisons
from triptych.reports.differences import INTERVAL, show, unsigned
from triptych.reports.divergence import share_of
from triptych.reports.dose import Dose, respond, show_change
from triptych.reports.labels import shorten_keys
from triptych.reports.measures import Measure, find_measure, primary_measure
from triptych.reports.scores import DIVERGED
from triptych.reports.statistics.difference import LEVEL, POWER
from triptych.reports.statistics.verdict import Expectation, judge_claim, judge_interval
from triptych.reports.stored_run import StoredRun, test_sets
from triptych.reports.study import Claim, Study
from triptych.reports.table import MISSING, Table, keep_columns, make_cells

TITLE = "Verdicts"
GROWTH = (
    "Where a measure names two test sets, Δ is the difference on the first minus the difference on the second: how "
    "much larger it is on the first. Test sets that hold the same text are paired."
)
"""What the note on verdicts says of claims about two test sets."""
NOT_RUN, NOT_MEASURED = "not run", "not measured"
"""What stands for the verdict on a claim about an arm without a result, and without the measure."""
Compared = Callable[[Measure], Comparisons]


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with what the runs say of it, as text.

    Attributes:
        claim: the claim.
        label: the claim and its two arms, in words.
        verdict: held, opposite, equivalent, inconclusive with its reason, not run, or not measured.
        measure: what decides it; None if no run has it.
        difference: the difference in this measure, with its interval if there are several seeds.
        in_bleu: the difference in BLEU; empty if BLEU decides or was not measured.
        detectable: the smallest true difference that would be found with a probability of ``POWER``.
    """

    claim: Claim
    label: str
    verdict: str
    measure: Measure | None
    difference: str = MISSING
    in_bleu: str = MISSING
    detectable: str = MISSING


def judge_claims(
    study: Study, rows: Sequence[ArmRow], runs: Sequence[StoredRun], compared: Compared
) -> list[JudgedClaim]:
    """Return the verdict on each claim of a study.

    Args:
        study: the study.
        rows: its arms.
        runs: their runs.
        compared: returns the arms compared in a measure.
    """
    by_arm = {row.arm: row for row in reversed(rows)}
    of_shares = [claim for claim in study.claims if claim.measure == DIVERGED]

    def judge(claim: Claim) -> JudgedClaim:
        if claim in of_shares:
            return _judge_share(claim, rows, LEVEL / len(of_shares))
        measure = _measure(claim, study, runs)
        if study.dose and claim.arm == study.dose.name:
            return _judge_dose(claim, study.dose, measure, rows, runs, compared)
        return _judge(claim, measure, by_arm, runs, compared)

    return [judge(claim) for claim in study.claims]


def tabulate_verdicts(judged: Sequence[JudgedClaim], runs: Sequence[StoredRun], compared: Compared) -> Table | None:
    """Return a table of claims with their verdicts; None if no claim has both of its arms.

    Args:
        judged: the claims.
        runs: the runs of all arms.
        compared: returns the arms compared in a measure.
    """
    if all(one.verdict == NOT_RUN for one in judged):
        return None
    used = [one.measure for one in judged if one.measure]
    has_seeds = any(measure.key == DIVERGED or compared(measure).seeds for measure in used)
    interval = f" {INTERVAL}" if has_seeds else ""
    header = ["claim", "verdict", "measure", f"Δ{interval}", f"Δ BLEU{interval}", "detectable Δ"]
    cells = [
        [one.label, one.verdict, _described(one.measure), one.difference, one.in_bleu, one.detectable] for one in judged
    ]
    table = Table(TITLE, make_cells(header, cells), prose=frozenset({0, 1, 2}))
    notes = _explain(judged, has_seeds=has_seeds)
    lead, kept = [], [0, 1, 2, 3, 4, 5]
    if len(named := {line[2] for line in cells}) == 1:  # One measure for all claims needs no column.
        lead = [f"The verdicts are by {named.pop()}."]
        kept.remove(2)
    if all(measure.key == "bleu" for measure in used) or not test_sets(runs):
        kept.remove(4)
    if all(one.detectable == MISSING for one in judged):
        kept.remove(5)
    return replace(keep_columns(table, kept), notes=notes, lead=lead)


def claim_pairs(study: Study) -> set[frozenset[str]]:
    """Return the pairs of arms that the claims of a study compare."""
    return {frozenset((claim.arm, claim.reference)) for claim in study.claims}


def _explain(judged: Sequence[JudgedClaim], *, has_seeds: bool) -> list[str]:
    """Return what the columns mean."""
    delta = "Δ is the claim's arm minus the arm that it is compared with."
    measures = [one.measure for one in judged if one.measure]
    growth = [GROWTH] if any(measure.baseline for measure in measures) else []
    if not has_seeds:
        return [f"{delta} Every arm has one seed, so every verdict on two arms is inconclusive.", *growth]
    margins = {f"±{measure.margin:g} {measure.unit}" for measure in measures if measure.margin}
    claims_equal = any(one.claim.expect is Expectation.EQUAL for one in judged)
    equal = f", equivalent if it is shown to be within {' or '.join(sorted(margins))}" if claims_equal else ""
    found = (
        f"Detectable: the smallest true Δ that would be found with a probability of {POWER:.0%}, given how much seeds "
        "and test sentences vary."
    )
    detectable = [found] if any(one.detectable != MISSING for one in judged) else []
    decides = f"{delta} Its interval decides: held or opposite if it excludes zero{equal}, else inconclusive."
    return [decides, *detectable, *growth]


def _judge(
    claim: Claim,
    measure: Measure | None,
    by_arm: Mapping[str, ArmRow],
    runs: Sequence[StoredRun],
    compared: Compared,
) -> JudgedClaim:
    row, base = by_arm.get(claim.arm), by_arm.get(claim.reference)
    names = [found.label if found else arm for found, arm in ((row, claim.arm), (base, claim.reference))]
    label = f"{claim.claim} ({names[0]} against {names[1]})"
    if row is None or base is None or not row.finished or not base.finished:
        return JudgedClaim(claim, label, NOT_RUN, measure)
    if measure is None or not compared(measure).can_compare(row, base):
        return JudgedClaim(claim, label, NOT_MEASURED, measure)
    difference = compared(measure).difference(row, base)
    judged = judge_claim(difference, claim.expect, higher_is_better=measure.higher_is_better, margin=measure.margin)
    in_bleu = ""
    if measure.key != "bleu" and test_sets(runs):
        bleu = compared(find_measure("bleu", claim.test_set or test_sets(runs)[0], baseline=claim.baseline_test_set))
        in_bleu = show(bleu.difference(row, base), bleu.estimate(row, base), bleu.measure)
    shown = show(difference, compared(measure).estimate(row, base), measure)
    varies = difference is not None and difference.standard_error > 0
    detectable = unsigned(difference.smallest_detectable(), measure) if difference and varies else MISSING
    return JudgedClaim(claim, label, str(judged), measure, shown, in_bleu, detectable)


def _judge_share(claim: Claim, rows: Sequence[ArmRow], level: float) -> JudgedClaim:
    """Return the verdict on a claim about the shares of diverged runs.

    Args:
        claim: the claim. It is about all arms that have the overrides that it names.
        rows: the arms.
        level: probability with which the interval may miss the true difference.
    """
    measure = replace(find_measure(DIVERGED, ""), test_set=None)
    names = [shorten_keys([name])[0] for name in (claim.arm, claim.reference)]
    label = f"{claim.claim} ({names[0]} against {names[1]})"
    ours, theirs = (share_of(rows, name) for name in (claim.arm, claim.reference))
    if not ours.total or not theirs.total:
        return JudgedClaim(claim, label, NOT_RUN, measure)
    bounds = ours.minus(theirs, level)
    judged = judge_interval(
        bounds, claim.expect, higher_is_better=False, reason=f"{ours.total} and {theirs.total} runs"
    )
    estimate, low, high = (measure.text(100 * value) for value in (ours.value - theirs.value, bounds.low, bounds.high))
    return JudgedClaim(claim, label, str(judged), measure, f"{estimate} [{low}, {high}]", "")


def _judge_dose(
    claim: Claim,
    dose: Dose,
    measure: Measure | None,
    rows: Sequence[ArmRow],
    runs: Sequence[StoredRun],
    compared: Compared,
) -> JudgedClaim:
    """Return the verdict on a claim about the highest dose against the lowest, by the line through all arms."""
    response = respond(dose, rows, compared(measure)) if measure else None
    if measure is None or response is None or (change := response.change) is None:
        return JudgedClaim(claim, f"{claim.claim} ({dose.name})", NOT_RUN, measure)
    low, high = response.range
    label = f"{claim.claim} ({dose.name} {high:g} against {low:g}, by a line)"
    reason = f"a line through {len(response.points)} arms"
    judged = judge_interval(change[1], claim.expect, higher_is_better=measure.higher_is_better, reason=reason)
    in_bleu = ""
    if measure.key != "bleu" and test_sets(runs):
        bleu = find_measure("bleu", claim.test_set or test_sets(runs)[0], baseline=claim.baseline_test_set)
        in_bleu = show_change(respond(dose, rows, compared(bleu)))
    return JudgedClaim(claim, label, str(judged), measure, show_change(response), in_bleu)


def _measure(claim: Claim, study: Study, runs: Sequence[StoredRun]) -> Measure | None:
    """Return the measure that decides a claim; None if no run has it."""
    if claim.measure is None:
        return primary_measure(runs, study.primary, study.margin, claim.test_set)
    margin = study.margin if claim.measure == study.primary else None
    return primary_measure(runs, claim.measure, margin, claim.test_set, claim.baseline_test_set)


def _described(measure: Measure | None) -> str:
    return MISSING if measure is None else measure.with_unit
