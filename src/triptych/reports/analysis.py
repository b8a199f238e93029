"""What a report concludes from its runs: differences from the reference, leaders, and verdicts on a study's claims."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations

from triptych.reports.arm_rows import ArmRow, runs_of
from triptych.reports.comparisons import Comparisons, ScoredTexts
from triptych.reports.differences import compare, compare_seeds, find_base, find_leader
from triptych.reports.measures import Measure, find_measure, measures_of
from triptych.reports.significance import compare_models
from triptych.reports.stored_run import test_sets
from triptych.reports.study import Study
from triptych.reports.table import Table
from triptych.reports.verdicts import JudgedClaim, claim_pairs, judge_claims, tabulate_verdicts
from triptych.runs.measured_speeds import MeasuredSpeeds


class Analysis:
    """The statistics of a report. What several tables need is computed once.

    Args:
        rows: the arms.
        study: the study that they belong to.
        speeds: how fast the arms train alone on a machine, if that was measured.
    """

    def __init__(self, rows: Sequence[ArmRow], study: Study, speeds: MeasuredSpeeds | None = None) -> None:
        self.rows = rows
        self.study = study
        self.speeds = speeds
        self._runs = runs_of(rows)
        self._texts = {name: ScoredTexts(name) for name in test_sets(self._runs)}
        self._compared: dict[Measure, Comparisons] = {}
        self._measures = measures_of(self._runs, study.primary, study.margin)
        self._leaders: dict[Measure, ArmRow | None] = {}

    def compared(self, measure: Measure) -> Comparisons:
        """Return the arms compared in a measure."""
        if measure not in self._compared:
            self._compared[measure] = Comparisons(self.rows, measure, self._texts, self._count_comparisons())
        return self._compared[measure]

    @property
    def has_seeds(self) -> bool:
        """Whether an arm was trained with several seeds, so that differences have intervals."""
        return any(self.compared(measure).seeds for measure in self._measures)

    @property
    def has_one_training(self) -> bool:
        """Whether all runs have the weights of one training, as when a study varies the search alone."""
        return len({run.training for run in self._runs if run.result}) == 1

    @property
    def measures(self) -> list[Measure]:
        """The measures that arms are compared in, the primary one first."""
        return self._measures

    @property
    def primary(self) -> Measure | None:
        """The measure that decides; None if nothing was scored."""
        return self._measures[0] if self._measures else None

    def base(self, measure: Measure) -> ArmRow | None:
        """Return the arm that the others are compared with: the reference, or else the best; None if none can be."""
        return find_base(self.rows, self.compared(measure), self.study.reference)

    def leader(self, measure: Measure) -> ArmRow | None:
        """Return the arm that is ahead of all others in a measure, by the intervals; None if none is."""
        if measure not in self._leaders:
            self._leaders[measure] = find_leader(self.rows, self.compared(measure))
        return self._leaders[measure]

    @cached_property
    def judged_claims(self) -> list[JudgedClaim]:
        """The verdict on each of the study's claims."""
        return judge_claims(self.study, self.rows, self._runs, self.compared)

    @property
    def verdicts(self) -> Table | None:
        """The table of the verdicts; None if the study has no claims."""
        return tabulate_verdicts(self.judged_claims, self._runs, self.compared)

    @property
    def differences(self) -> list[Table]:
        """The differences from the reference, a table for each measure, the primary one first."""
        found = [compare(self.rows, self.compared(measure), self.study.reference) for measure in self._measures]
        return [table for table in found if table]

    @property
    def of_models(self) -> list[Table]:
        """The tests of the trained models themselves, a table for each test set."""
        tables = []
        for name, texts in self._texts.items():
            base = self.base(find_measure("bleu", name))
            tables.append(compare_models(self.rows, base, texts) if base else None)
        return [table for table in tables if table]

    @property
    def of_seeds(self) -> list[Table]:
        """Dunnett's tests on seeds alone, a table for each measure."""
        found = [compare_seeds(self.rows, self.compared(measure), self.study.reference) for measure in self._measures]
        return [table for table in found if table]

    def _count_comparisons(self) -> int:
        """Return the number of pairs that are judged: those with the reference, or else all, and those of claims."""
        arms = list(dict.fromkeys(row.arm for row in self.rows if row.finished))
        reference = self.study.reference
        if reference in arms:
            pairs = {frozenset((arm, reference)) for arm in arms if arm != reference}
        else:  # The figures themselves choose the arm that the others are compared with.
            pairs = {frozenset(pair) for pair in combinations(arms, 2)}
        pairs |= {pair for pair in claim_pairs(self.study) if pair <= {*arms}}
        return max(1, len(pairs))
