"""The table of verdicts: each claim of a study beside the interval that decides it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from triptych.reports.arm_rows import ArmRow
from triptych.reports.comparisons import Comparisons
from triptych.reports.differences import INTERVAL, show
from triptych.reports.measures import Measure, find_measure, primary_measure
from triptych.reports.statistics.verdict import Expectation, judge_claim
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


def judge_claims(
    study: Study, rows: Sequence[ArmRow], runs: Sequence[StoredRun], compared: Callable[[Measure], Comparisons]
) -> Table | None:
    """Return a table of the study's claims; None if it has none, or nothing was scored.

    Args:
        study: the study.
        rows: its arms.
        runs: their runs.
        compared: returns the arms compared in a measure.
    """
    if not study.claims:
        return None
    by_arm = {row.arm: row for row in reversed(rows)}
    measures = {claim: _measure(claim, study, runs) for claim in study.claims}
    cells = [_line(claim, measures[claim], by_arm, runs, compared) for claim in study.claims]
    used = [measure for measure in measures.values() if measure]
    has_seeds = any(compared(measure).seeds for measure in used)
    interval = f" {INTERVAL}" if has_seeds else ""
    header = ["claim", "verdict", "measure", f"Δ{interval}", f"Δ BLEU{interval}"]
    table = Table(TITLE, make_cells(header, cells), prose=frozenset({0, 1, 2}))
    notes = _explain(study, used, has_seeds=has_seeds)
    lead, kept = [], [0, 1, 2, 3, 4]
    if len(named := {line[2] for line in cells}) == 1:  # One measure for all claims needs no column.
        lead = [f"The verdicts are by {named.pop()}."]
        kept.remove(2)
    if all(measure.key == "bleu" for measure in used) or not test_sets(runs):
        kept.remove(4)
    return replace(keep_columns(table, kept), notes=notes, lead=lead)


def _explain(study: Study, measures: Sequence[Measure], *, has_seeds: bool) -> list[str]:
    """Return what the columns mean."""
    delta = "Δ is the claim's arm minus the arm that it is compared with."
    growth = [GROWTH] if any(measure.baseline for measure in measures) else []
    if not has_seeds:
        return [f"{delta} Every arm has one seed, so every verdict is inconclusive.", *growth]
    margins = {f"±{measure.margin:g} {measure.unit}" for measure in measures if measure.margin}
    claims_equal = any(claim.expect is Expectation.EQUAL for claim in study.claims)
    equal = f", equivalent if it is shown to be within {' or '.join(sorted(margins))}" if claims_equal else ""
    return [f"{delta} Its interval decides: held or opposite if it excludes zero{equal}, else inconclusive.", *growth]


def claim_pairs(study: Study) -> set[frozenset[str]]:
    """Return the pairs of arms that the claims of a study compare."""
    return {frozenset((claim.arm, claim.reference)) for claim in study.claims}


def _line(
    claim: Claim,
    measure: Measure | None,
    by_arm: Mapping[str, ArmRow],
    runs: Sequence[StoredRun],
    compared: Callable[[Measure], Comparisons],
) -> list[str]:
    row, base = by_arm.get(claim.arm), by_arm.get(claim.reference)
    names = [found.label if found else arm for found, arm in ((row, claim.arm), (base, claim.reference))]
    label = f"{claim.claim} ({names[0]} against {names[1]})"
    named = MISSING if measure is None else _described(measure)
    if row is None or base is None or not row.finished or not base.finished:
        return [label, NOT_RUN, named, MISSING, MISSING]
    if measure is None or not compared(measure).can_compare(row, base):
        return [label, NOT_MEASURED, named, MISSING, MISSING]
    difference = compared(measure).difference(row, base)
    judged = judge_claim(difference, claim.expect, higher_is_better=measure.higher_is_better, margin=measure.margin)
    shown = [measure]
    if measure.key != "bleu" and test_sets(runs):
        shown.append(find_measure("bleu", claim.test_set or test_sets(runs)[0], baseline=claim.baseline_test_set))
    cells = [show(each.difference(row, base), each.estimate(row, base), each.measure) for each in map(compared, shown)]
    return [label, str(judged), named, *cells, *[""] * (2 - len(cells))]


def _measure(claim: Claim, study: Study, runs: Sequence[StoredRun]) -> Measure | None:
    """Return the measure that decides a claim; None if no run has it."""
    if claim.measure is None:
        return primary_measure(runs, study.primary, study.margin, claim.test_set)
    return primary_measure(runs, claim.measure, None, claim.test_set, claim.baseline_test_set)


def _described(measure: Measure) -> str:
    """Return the name of a measure, with its unit if that is another word."""
    return measure.title if measure.unit == measure.name else f"{measure.title} ({measure.unit})"
