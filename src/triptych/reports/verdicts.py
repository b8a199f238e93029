"""The table of verdicts: each claim of a study beside the interval that decides it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from triptych.reports.arm_rows import ArmRow
from triptych.reports.comparisons import Comparisons
from triptych.reports.differences import show
from triptych.reports.measures import Measure, find_measure, primary_measure
from triptych.reports.statistics.difference import LEVEL
from triptych.reports.statistics.verdict import Judgement, Verdict, judge_claim
from triptych.reports.stored_run import StoredRun, test_sets
from triptych.reports.study import Claim, Study
from triptych.reports.table import MISSING, Table, keep_columns, make_cells

TITLE = "Verdicts"
NOT_MEASURED = Judgement(Verdict.INCONCLUSIVE, "not measured")


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
    if not study.claims or not test_sets(runs):
        return None
    by_arm = {row.arm: row for row in reversed(rows)}
    cells = [_line(claim, study, by_arm, runs, compared) for claim in study.claims]
    interval = f"[{1 - LEVEL:.0%} interval]"
    header = ["claim", "verdict", "measure", f"Δ {interval}", f"Δ BLEU {interval}"]
    named = {line[2] for line in cells} - {MISSING}
    notes = [
        "Δ: the claim's arm minus the arm that it is compared with. The interval alone decides: held or opposite if it "
        "excludes zero, equivalent if an equivalence test says so, else inconclusive."
    ]
    if len(named) > 1:
        return Table(TITLE, make_cells(header, cells), notes, prose=frozenset({0, 1, 2}), optional=(4,))
    # One measure for all claims needs no column.
    notes.insert(0, f"Measure: {named.pop() if named else MISSING}.")
    del header[2]
    cells = [[*line[:2], *line[3:]] for line in cells]
    table = Table(TITLE, make_cells(header, cells), notes, prose=frozenset({0, 1}), optional=(3,))
    return table if any(line[3] for line in cells) else keep_columns(table, (0, 1, 2))


def claim_pairs(study: Study) -> set[frozenset[str]]:
    """Return the pairs of arms that the claims of a study compare."""
    return {frozenset((claim.arm, claim.reference)) for claim in study.claims}


def _line(
    claim: Claim,
    study: Study,
    by_arm: Mapping[str, ArmRow],
    runs: Sequence[StoredRun],
    compared: Callable[[Measure], Comparisons],
) -> list[str]:
    measure = _measure(claim, study, runs)
    bleu = find_measure("bleu", claim.test_set or test_sets(runs)[0])
    row, base = by_arm.get(claim.arm), by_arm.get(claim.reference)
    names = [found.label if found else arm for found, arm in ((row, claim.arm), (base, claim.reference))]
    label = f"{claim.claim} ({names[0]} against {names[1]})"
    named = MISSING if measure is None else _described(measure)
    if row is None or base is None or measure is None or not compared(measure).can_compare(row, base):
        return [label, str(NOT_MEASURED), named, MISSING, MISSING]
    difference = compared(measure).difference(row, base)
    judged = judge_claim(difference, claim.expect, higher_is_better=measure.higher_is_better, margin=measure.margin)
    cells = [
        show(each.difference(row, base), each.estimate(row, base), each.measure)
        for each in map(compared, (measure, bleu))
    ]
    return [label, str(judged), named, cells[0], "" if measure.key == "bleu" else cells[1]]


def _measure(claim: Claim, study: Study, runs: Sequence[StoredRun]) -> Measure | None:
    """Return the measure that decides a claim; None if no run has it."""
    if claim.measure is None:
        return primary_measure(runs, study.primary, study.margin, claim.test_set)
    return primary_measure(runs, claim.measure, None, claim.test_set)


def _described(measure: Measure) -> str:
    """Return the name of a measure, with its unit if that is another word."""
    return measure.title if measure.unit == measure.name else f"{measure.title} ({measure.unit})"
