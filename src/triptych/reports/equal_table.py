"""Lay out the comparisons of a study under each meaning of equal: a line for a pair of arms, a column for a meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triptych.config.equal import SECONDS
from triptych.reports.arm_rows import ArmRow, runs_of
from triptych.reports.differences import INTERVAL, unsigned
from triptych.reports.equal import MEASURE, NAMES, Compared, EqualComparisons
from triptych.reports.equal_amounts import MOST_RATES, ArmsRead
from triptych.reports.measures import share_tokenizer
from triptych.reports.statistics.difference import LEVEL, POWER
from triptych.reports.statistics.verdict import Outcome, judge_claim, judge_difference
from triptych.reports.study import Claim, Study
from triptych.reports.table import Table, make_cells
from triptych.runs.measured_speeds import SPEEDS_FILE, MeasuredSpeeds

TITLE = "Verdicts by meaning of equal"
DECIDED = {Outcome.BETTER, Outcome.WORSE}
Cells = Mapping[tuple[tuple[str, str], tuple[str, ...]], Compared]
"""Comparisons by pair of arms and by the names of the meanings."""


def tabulate_equal(study: Study, rows: Sequence[ArmRow], speeds: MeasuredSpeeds | None) -> Table | None:
    """Return a table of the verdicts on every pair of arms under each meaning of equal that the study names.

    None if it names none, if no arm was run, or if the tokenizers differ, whose losses a token cannot be compared.

    Args:
        study: the study.
        rows: the arms of the report.
        speeds: speeds that were measured alone; without them nothing is compared at equal seconds.

    Raises:
        UserError: as ``EqualComparisons``.
    """
    runs = runs_of(rows)
    if not (study.equal or study.stand_ins) or not any(run.result for run in runs) or not share_tokenizer(runs):
        return None
    compared = EqualComparisons(study, rows, speeds)
    found = {
        (pair, reading.meanings): compared.compare(pair, reading)
        for pair in compared.pairs
        for reading in compared.readings
    }
    header: list[str | tuple[str, str]] = ["arms", *(_header(study, reading) for reading in compared.readings), "flips"]
    lines, flipping = [], []
    for pair in compared.pairs:
        cells = [found[pair, reading.meanings] for reading in compared.readings]
        label = " against ".join(compared.rows[arm].label for arm in pair)
        outcomes = [word for cell in cells if (word := _outcome(cell))]
        lines.append([label, *map(_text, cells), _flips(outcomes)])
        if _flips(outcomes) == "yes":
            flipping.append(label)
    lead = [*_claims(compared), f"Verdicts that flip: {'; '.join(flipping) or 'none'}."]
    return Table(TITLE, make_cells(header, lines), _explain(compared, found), lead=lead)


def _header(study: Study, reading: ArmsRead) -> tuple[str, str]:
    names = ", ".join(reading.meanings)
    return ("", names) if reading.meanings[0] in study.stand_ins else ("equal", names)


def _outcome(cell: Compared) -> Outcome | None:
    """Return what was found of the first arm against the second; None if they cannot be compared."""
    if cell.why_not:
        return None
    word = judge_difference(cell.difference, higher_is_better=False, margin=MEASURE.margin).word
    return Outcome(word.value)


def _text(cell: Compared) -> str:
    outcome = _outcome(cell)
    return f"{outcome.value} {cell}" if outcome else str(cell)


def _flips(outcomes: Sequence[Outcome]) -> str:
    """Return whether verdicts contradict each other: yes, partly (not all of them decide), or no."""
    if {*outcomes} >= DECIDED:
        return "yes"
    return "partly" if {*outcomes} & DECIDED and len({*outcomes}) > 1 else "no"


def _claims(compared: EqualComparisons) -> list[str]:
    """Return what each claim of the study is worth under each meaning, a sentence each."""
    sentences = []
    for claim in compared.study.claims:
        pair = (claim.arm, claim.reference)
        if not {*pair} <= {*compared.arms}:
            continue
        by_verdict: dict[str, list[str]] = {}
        for reading in compared.readings:
            cell = compared.compare(pair, reading)
            by_verdict.setdefault(_verdict(claim, cell), []).append(", ".join(reading.meanings))
        verdicts = "; ".join(f"{verdict} ({'; '.join(names)})" for verdict, names in by_verdict.items())
        sentences.append(f"{claim.claim}: {verdicts}.")
    return sentences


def _verdict(claim: Claim, cell: Compared) -> str:
    """Return the verdict on a claim in one word, or why there is none."""
    if cell.why_not:
        return cell.why_not
    return judge_claim(cell.difference, claim.expect, higher_is_better=False, margin=MEASURE.margin).word.value


def _explain(compared: EqualComparisons, found: Cells) -> list[str]:
    """Return how to read the cells and where the figures come from."""
    differences = [cell.difference for cell in found.values() if cell.difference]
    interval = f", with its {INTERVAL[1:-1]}" if differences else ""
    notes = [
        f"A cell: the verdict on the first arm, and its validation loss minus the second's in {MEASURE.unit} (lower is "
        f"better){interval}. A loss is the lowest of the single checkpoints so far; between validations it is "
        "interpolated linearly.",
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
    if compared.speeds and not compared.unmeasured:
        return f"Seconds: tokens divided by the speed of each arm, measured alone ({compared.speeds})."
    whose = f"that of {', '.join(compared.unmeasured)}" if compared.speeds else "the speed of each arm"
    return (
        f"Nothing is compared at equal {NAMES[SECONDS]}: {whose} was not measured alone. `triptych forecast … "
        f"--measure 60 --speeds FOLDER/{SPEEDS_FILE}` measures them."
    )


def _label(compared: EqualComparisons, arm: str) -> str:
    return compared.rows[arm].label if arm in compared.rows else arm
