"""Lay out the comparisons of a study: a line for a claim or a pair of arms, a column for a meaning of equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from enum import StrEnum

from triptych.config.equal import SECONDS
from triptych.reports.differences import INTERVAL, unsigned
from triptych.reports.equal import MEASURE, NAMES, Compared, EqualComparisons
from triptych.reports.equal_amounts import MOST_RATES
from triptych.reports.statistics.difference import LEVEL, POWER
from triptych.reports.statistics.verdict import Outcome, Verdict, judge_claim, judge_difference
from triptych.reports.study import Claim
from triptych.reports.table import Table, make_cells
from triptych.runs.measured_speeds import SPEEDS_FILE

TITLE = "Verdicts by meaning of equal"
CLAIMS_TITLE = "Claims by meaning of equal"
DECIDED: Set[StrEnum] = {Outcome.BETTER, Outcome.WORSE}
DECIDED_CLAIMS: Set[StrEnum] = {Verdict.HELD, Verdict.OPPOSITE}
Cells = Mapping[tuple[tuple[str, str], tuple[str, ...]], Compared]
"""Comparisons by pair of arms and by the names of the meanings."""


def tabulate_pairs(compared: EqualComparisons) -> Table | None:
    """Return a table of the verdicts on every pair of arms under each meaning of equal that the study names.

    None where one arm was run.
    """
    if not compared.pairs:
        return None
    found = {
        (pair, reading.meanings): compared.compare(pair, reading)
        for pair in compared.pairs
        for reading in compared.readings
    }
    lines, flipping = [], []
    for pair in compared.pairs:
        cells = [found[pair, reading.meanings] for reading in compared.readings]
        label = " against ".join(compared.rows[arm].label for arm in pair)
        outcomes = [_outcome(cell) for cell in cells]
        flips = _flips(outcomes, DECIDED)
        lines.append([label, *map(_text, outcomes, cells), flips])
        if flips == "yes":
            flipping.append(label)
    lead = [f"Verdicts that flip: {'; '.join(flipping) or 'none'}."]
    return Table(TITLE, make_cells(_header(compared, "arms"), lines), _explain(compared, found), lead=lead)


def tabulate_claims(compared: EqualComparisons) -> Table | None:
    """Return a table of what each claim of the study is worth under each meaning of equal; None without claims.

    Claims that name a measure or a test set are left out, since cells are validation losses.
    """
    lines = []
    for claim in compared.study.claims:
        pair = (claim.arm, claim.reference)
        if claim.measure or claim.test_set or not {*pair} <= {*compared.arms}:
            continue
        cells = [compared.compare(pair, reading) for reading in compared.readings]
        verdicts = [_verdict(claim, cell) for cell in cells]
        named = f"{claim.claim} ({' against '.join(compared.rows[arm].label for arm in pair)})"
        lines.append([named, *map(_text, verdicts, cells), _flips(verdicts, DECIDED_CLAIMS)])
    if not lines:
        return None
    notes = [
        f"A cell: the verdict on the claim, and the validation loss of its first arm minus the second's in "
        f"{MEASURE.unit} (lower is better), as in the next table.",
        "Flips: yes, if a meaning says held and another opposite; partly, if some decide and others do not.",
    ]
    return Table(CLAIMS_TITLE, make_cells(_header(compared, "claim"), lines), notes)


def _header(compared: EqualComparisons, first: str) -> list[str | tuple[str, str]]:
    meanings = []
    for reading in compared.readings:
        upper = "" if reading.meanings[0] in compared.study.stand_ins else "equal"
        meanings.append((upper, ", ".join(reading.meanings)))
    return [first, *meanings, "flips"]


def _outcome(cell: Compared) -> Outcome | None:
    """Return what was found of the first arm against the second; None if they cannot be compared."""
    if cell.why_not:
        return None
    word = judge_difference(cell.difference, higher_is_better=False, margin=MEASURE.margin).word
    return Outcome(word.value)


def _verdict(claim: Claim, cell: Compared) -> Verdict | None:
    """Return what was found of a claim; None if its arms cannot be compared."""
    if cell.why_not:
        return None
    word = judge_claim(cell.difference, claim.expect, higher_is_better=False, margin=MEASURE.margin).word
    return Verdict(word.value)


def _text(word: Outcome | Verdict | None, cell: Compared) -> str:
    return f"{word.value} {cell}" if word else str(cell)


def _flips(words: Sequence[StrEnum | None], decided: Set[StrEnum]) -> str:
    """Return whether verdicts contradict each other: yes, partly (not all of them decide), or no."""
    found = {word for word in words if word}
    if found >= decided:
        return "yes"
    return "partly" if found & decided and len(found) > 1 else "no"


def _explain(compared: EqualComparisons, found: Cells) -> list[str]:
    """Return how to read the cells and where the figures come from."""
    differences = [cell.difference for cell in found.values() if cell.difference]
    interval = f", with its {INTERVAL[1:-1]}" if differences else ""
    notes = [
        f"A cell: the verdict on the first arm, and its validation loss minus the second's in {MEASURE.unit} (lower is "
        f"better){interval}. Two arms at their ends are compared by the weights that they are scored with, which may "
        "be averages; others by the lowest loss of a single checkpoint so far, interpolated linearly between "
        "validations.",
        "Flips: yes, if a meaning says better and another worse; partly, if some decide and others do not.",
        *_amounts(compared),
    ]
    if compared.study.stand_ins:
        notes += [
            f"{name.capitalize()}, each at its end: "
            + ", ".join(f"{_label(compared, other)} for {_label(compared, arm)}" for arm, other in arms.items())
            + "."
            for name, arms in compared.study.stand_ins.items()
        ]
    if not differences:
        return [*notes, "Every arm has one seed, so every verdict is inconclusive."]
    smallest = [difference.smallest_detectable() for difference in differences]
    low, high = (unsigned(bound, MEASURE) for bound in (min(smallest), max(smallest)))
    return [
        *notes,
        f"Intervals: {1 - LEVEL:.0%} for all {compared.count} differences of the table together, over seeds; the "
        "variance between seeds is pooled over the arms of a column, unless they differ in it.",
        f"Power: a true difference of {low if low == high else f'{low} to {high}'} {MEASURE.unit} would be found with "
        f"a probability of {POWER:.0%}.",
    ]


def _amounts(compared: EqualComparisons) -> list[str]:
    """Return at which amounts arms were read before their end, and where seconds come from."""
    notes = []
    for reading in compared.readings:
        cut = [arm for arm, each in reading.arms.items() if any(not one.at_end for one in each)]
        if reading.amount is not None and cut:
            whole = [_label(compared, arm) for arm, each in reading.arms.items() if each and arm not in cut]
            notes.append(
                f"Equal {', '.join(reading.meanings)}: {reading.amount:,.3g}, at which {' and '.join(whole)} ended."
            )
    if notes:
        notes.append(
            "What an arm learned after that amount does not count. Losses are compared if the learning rates there, as "
            f"a share of each arm's highest, differ by a factor of at most {MOST_RATES:g} (else: rates differ)."
        )
    if SECONDS in compared.study.equal:
        notes.append(_seconds(compared))
    return notes


def _seconds(compared: EqualComparisons) -> str:
    """Return where seconds come from, or why there are none."""
    missing = f"that of {', '.join(_label(compared, arm) for arm in compared.unmeasured)}"
    whose = missing if compared.speeds else "the speed of each arm"
    remedy = f"was not measured alone. `triptych forecast … --measure 60 --speeds FOLDER/{SPEEDS_FILE}` measures them."
    if not compared.has_seconds:
        return f"Nothing is compared at equal {NAMES[SECONDS]}: {whose} {remedy}"
    known = f"Seconds: tokens divided by the speed of each arm, measured alone ({compared.speeds})."
    return f"{known} But {missing} {remedy}" if compared.unmeasured else known


def _label(compared: EqualComparisons, arm: str) -> str:
    return compared.rows[arm].label if arm in compared.rows else arm
