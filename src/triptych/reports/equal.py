"""The table of verdicts by the meaning of equal: every pair of arms, compared at equal parameters, tokens and so on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import fmean

from triptych.config.equal import FLOPS, PARAMETERS, SECONDS, TOKENS
from triptych.errors import UserError
from triptych.reports.arm_rows import ArmRow
from triptych.reports.differences import show
from triptych.reports.equal_amounts import (
    ArmsRead,
    Course,
    are_equal_sizes,
    course_of,
    merge_alike,
    read_ends,
    read_equal,
)
from triptych.reports.measures import find_measure
from triptych.reports.scores import VALIDATION_LOSS
from triptych.reports.statistics.difference import Difference
from triptych.reports.statistics.seeds import seed_variances
from triptych.reports.stored_run import StoredRun
from triptych.reports.study import Study
from triptych.reports.table import MISSING
from triptych.runs.measured_speeds import SPEEDS_FILE, ArmSpeed, MeasuredSpeeds

NAMES = {PARAMETERS: "parameters", TOKENS: "tokens", FLOPS: "FLOPs", SECONDS: "seconds"}
"""What tables call the meanings."""
MEASURE = find_measure(VALIDATION_LOSS, "")


@dataclass(frozen=True)
class Compared:
    """Two arms under one meaning of equal.

    Attributes:
        estimate: difference of the mean losses, the first arm minus the second; None if they cannot be compared.
        difference: the same with its interval; None without seeds.
        why_not: why they cannot be compared; empty if they can.
    """

    estimate: float | None = None
    difference: Difference | None = None
    why_not: str = ""

    def __str__(self) -> str:
        return self.why_not or show(self.difference, self.estimate, MEASURE)


def _check_speed(speeds: MeasuredSpeeds, speed: ArmSpeed, arm: str, run: StoredRun) -> None:
    """Check that a run was trained as its arm was when its speed was measured.

    Raises:
        UserError: with another model, or in another precision.
    """
    remedy = "measure it again with the overrides of the runs"
    parameters = (run.result or {})["model"]["parameters"]
    if parameters != speed.parameters:
        raise UserError(
            f"{SPEEDS_FILE} has the speed of a model of {speed.parameters:,} parameters for {arm}, and {run.origin} "
            f"has {parameters:,}; {remedy}."
        )
    precision = str((run.config.get("strategy") or {}).get("precision") or speeds.precision)
    if precision != speeds.precision:
        raise UserError(
            f"{SPEEDS_FILE} has speeds in precision {speeds.precision}, and {run.origin} was trained in {precision}; "
            f"{remedy}."
        )


class EqualComparisons:
    """The arms of a study under each meaning of equal.

    Args:
        study: the study, which names the meanings.
        rows: the arms of the report.
        speeds: speeds that were measured alone; without them nothing is compared at equal seconds.

    Raises:
        UserError: speeds of other models or of another precision than the runs', or metrics that cannot be read.
    """

    def __init__(self, study: Study, rows: Sequence[ArmRow], speeds: MeasuredSpeeds | None) -> None:
        self.study = study
        self.rows = {row.arm: row for row in reversed(rows)}
        self.speeds = speeds
        standing_in = {arm for arms in study.stand_ins.values() for arm in arms.values()}
        self.arms = list(dict.fromkeys(row.arm for row in rows if row.arm not in standing_in))
        self.pairs = [(later, earlier) for earlier, later in combinations(self.arms, 2)]
        self._found: dict[str, list[Course]] = {}

    @cached_property
    def unmeasured(self) -> list[str]:
        """The arms that have runs and no speed."""
        known = self.speeds.arms if self.speeds else {}
        return [arm for arm in self.arms if arm not in known and self.rows[arm].finished]

    @property
    def has_seconds(self) -> bool:
        """Whether there are arms to compare at equal seconds."""
        return len([arm for arm in self.arms if self._is_run(arm) and arm not in self.unmeasured]) > 1

    @cached_property
    def readings(self) -> list[ArmsRead]:
        """The arms read under each meaning, meanings that come to the same as one."""
        found = []
        for meaning in self.study.equal:
            if meaning == PARAMETERS:
                reading = read_ends(NAMES[meaning], {arm: self._courses(arm) for arm in self.arms})
                found.append(ArmsRead(reading.meanings, reading.arms, excluded=self._unequal_sizes()))
            elif meaning != SECONDS or self.has_seconds:
                unmeasured = self.unmeasured if meaning == SECONDS else []
                courses = {arm: [] if arm in unmeasured else self._courses(arm) for arm in self.arms}
                reading = read_equal(meaning, courses)
                found.append(ArmsRead((NAMES[meaning],), reading.arms, reading.amount))
        for name, stand_ins in self.study.stand_ins.items():
            reading = read_ends(name, {arm: self._courses(stand_ins.get(arm, arm)) for arm in self.arms})
            same = frozenset(frozenset(pair) for pair in self.pairs if not {*pair} & {*stand_ins})
            found.append(ArmsRead(reading.meanings, reading.arms, excluded=same))
        return merge_alike(found)

    @cached_property
    def count(self) -> int:
        """Number of differences that are judged together (Bonferroni)."""
        return max(1, sum(not self._why_not(pair, reading) for pair in self.pairs for reading in self.readings))

    def compare(self, pair: tuple[str, str], reading: ArmsRead) -> Compared:
        """Compare the first arm of a pair with the second under one meaning.

        Where both were read at their ends, it is by the weights that they are scored with; else by single checkpoints.
        """
        if why_not := self._why_not(pair, reading):
            return Compared(why_not=why_not)
        losses = reading.scored if reading.at_ends(*pair) and all(map(reading.scored, pair)) else reading.losses
        ours, theirs = map(losses, pair)
        estimate = fmean(ours) - fmean(theirs)
        seeds = seed_variances({arm: losses(arm) for arm in self.arms})
        if seeds is None:
            return Compared(estimate)
        counts = len(ours), len(theirs)
        return Compared(estimate, Difference(estimate, counts, seeds.between(*pair), comparisons=self.count))

    def _why_not(self, pair: tuple[str, str], reading: ArmsRead) -> str:
        """Return why two arms cannot be compared under a meaning; empty if they can."""
        stand_ins = self.study.stand_ins.get(reading.meanings[0], {})
        if frozenset(pair) in reading.excluded:
            return MISSING if stand_ins else "unequal"
        if not all(self._is_run(stand_ins.get(arm, arm)) for arm in pair):
            return "not run"
        if not all(reading.arms[arm] for arm in pair):
            return "not measured"
        return "" if reading.share_rates(*pair) else "rates differ"

    def _is_run(self, arm: str) -> bool:
        return arm in self.rows and bool(self.rows[arm].finished)

    def _courses(self, arm: str) -> list[Course]:
        """Return the course of each seed of an arm that has one."""
        if arm not in self._found:
            self._found[arm] = self._read_courses(arm) if self._is_run(arm) else []
        return self._found[arm]

    def _read_courses(self, arm: str) -> list[Course]:
        speed = self.speeds.arms.get(arm) if self.speeds else None
        runs = self.rows[arm].finished
        if self.speeds and speed:
            for run in runs:
                _check_speed(self.speeds, speed, arm, run)
        found = [course_of(run, speed.tokens_per_second if speed else None) for run in runs]
        return [course for course in found if course]

    def _unequal_sizes(self) -> frozenset[frozenset[str]]:
        """Return the pairs of arms whose numbers of non-embedding parameters differ."""
        sizes = {
            arm: (self.rows[arm].finished[0].result or {})["model"]["parameters_non_embedding"]
            for arm in self.arms
            if self._is_run(arm)
        }
        pairs = (pair for pair in self.pairs if {*pair} <= {*sizes})
        return frozenset(frozenset(pair) for pair in pairs if not are_equal_sizes([sizes[arm] for arm in pair]))
