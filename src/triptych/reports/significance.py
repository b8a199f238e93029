"""Is one arm ahead of another by more than chance? Paired approximate randomization."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sacrebleu.significance import PairedTest

from triptych.errors import UserError
from triptych.evaluation.bleu_statistics import bleu_from_signature, bleu_statistics, corpus_bleu
from triptych.reports.rows import Row, runs_of
from triptych.reports.stored_runs import Run
from triptych.reports.tables import MISSING, Table

TRIALS = 1000
LEVEL = 0.05
FEWEST = 10
"""Sentences of which BLEU must count something else for two arms: sacreBLEU leaves ties out of p, so that with hardly
any differences, where nearly every exchange ties, it would call the smallest of them significant."""
ROUNDING = 1e-9
"""BLEU points by which differences that are equal may miss each other."""


@dataclass(frozen=True)
class Difference:
    """Of two arms on a test set.

    Attributes:
        bleu: the difference, the mean over the seeds that both have.
        p: two-sided; None where fewer than ``FEWEST`` sentences count otherwise.
        seeds: those that both have.
    """

    bleu: float
    p: float | None
    seeds: tuple[int | None, ...]


class PairedTests:
    """Tests of arms against each other on one test set, each pair by the seeds that both have.

    The null hypothesis is that two arms' translations are exchangeable sentence by sentence (Riezler and Maxwell
    2005). With one seed p is sacreBLEU's own; with several, that of ``randomized_p``.

    Args:
        rows: the arms; those whose runs are not scored on the test set are left out.
        test_set: which translations to compare.
    """

    def __init__(self, rows: Sequence[Row], test_set: str) -> None:
        self.test_set = test_set
        scores = {row.label: bleu for row in rows if (bleu := row.bleu(test_set)) is not None}
        self.ranked = sorted((row for row in rows if row.label in scores), key=lambda row: -scores[row.label])
        text = {run.folder: run.translations(test_set) for run in runs_of(self.ranked)}
        self._text = {folder: lines for folder, lines in text.items() if lines}
        self._statistics: dict[Path, np.ndarray] = {}

    def can_test(self, row: Row) -> bool:
        """Whether a run of the arm has its translations."""
        return any(run.folder in self._text for run in row.finished)

    def test(self, row: Row, base: Row) -> Difference | None:
        """``row`` less ``base``; None where they share no seed with translations of the same sentences."""
        pairs = self._pairs(row, base)
        if not pairs:
            return None
        return Difference(
            bleu=float(np.mean([self._bleu(run) - self._bleu(other) for run, other in pairs])),
            p=self._p(pairs) if self._different(pairs) >= FEWEST else None,
            seeds=tuple(run.seed for run, _ in pairs),
        )

    def leader(self) -> Row | None:
        """The arm that is ahead of every other with p < ``LEVEL``, if there is one."""
        if len(self.ranked) < 2:
            return None
        best, *others = self.ranked
        # The nearest are tested first, so that mostly one test settles it.
        found = (self.test(best, other) for other in others)
        return best if all(test and test.bleu > 0 and test.p is not None and test.p < LEVEL for test in found) else None

    def _pairs(self, row: Row, base: Row) -> list[tuple[Run, Run]]:
        """The runs of both, seed by seed, that have translated the same sentences."""
        theirs = {run.seed: run for run in base.finished if run.folder in self._text}
        pairs = [(run, theirs[run.seed]) for run in row.finished if run.folder in self._text and run.seed in theirs]
        sentences = [[self._references(run) for run in pair] for pair in pairs]
        return [pair for pair, both in zip(pairs, sentences, strict=True) if both == [sentences[0][0]] * 2]

    def _p(self, pairs: Sequence[tuple[Run, Run]]) -> float:
        if len(pairs) > 1:
            ours, theirs = (np.stack([self._counted(run) for run in side]) for side in zip(*pairs, strict=True))
            return randomized_p(ours, theirs, TRIALS, random_seed())
        ((run, base),) = pairs
        systems: list[tuple[str, Sequence[str]]] = [("base", self._lines(base)), ("other", self._lines(run))]
        metrics = {"BLEU": bleu_from_signature(run.tests[self.test_set]["bleu_signature"])}
        test = PairedTest(systems, metrics, [self._references(run)], test_type="ar", n_samples=TRIALS)
        result: Any = test()[1]["BLEU"][1]
        return result.p_value

    def _counted(self, run: Run) -> np.ndarray:
        """A run's ``bleu_statistics``, counted once."""
        if run.folder not in self._statistics:
            signature = run.tests[self.test_set]["bleu_signature"]
            self._statistics[run.folder] = bleu_statistics(self._lines(run), self._references(run), signature)
        return self._statistics[run.folder]

    def _different(self, pairs: Sequence[tuple[Run, Run]]) -> int:
        """Sentences whose ``bleu_statistics`` differ in any seed: where they do not, an exchange changes nothing."""
        unequal = [np.any(self._counted(run) != self._counted(other), axis=1) for run, other in pairs]
        return int(np.any(unequal, axis=0).sum())

    def _bleu(self, run: Run) -> float:
        return run.tests[self.test_set]["bleu"]

    def _lines(self, run: Run) -> list[str]:
        return self._text[run.folder][0]

    def _references(self, run: Run) -> list[str]:
        return self._text[run.folder][1]


def randomized_p(ours: np.ndarray, theirs: np.ndarray, trials: int, seed: int | None) -> float:
    """Two-sided p of the difference of two arms' BLEU, each the mean over its seeds, by paired randomization.

    A sentence is one observation, however many seeds have translated it: its translations by all seeds change sides
    together. Exchanges that tie with what was observed count for chance, as an exact test has it; sacreBLEU, which
    leaves them out, differs only where few sentences do.

    Args:
        ours: ``bleu_statistics`` of one arm, (seeds, sentences, statistics).
        theirs: of the other, the same seeds in the same order.
        trials: random exchanges.
        seed: of the random generator; None for another one each time.
    """
    seeds, sentences, statistics = ours.shape
    exchanged = np.random.default_rng(seed).integers(2, size=(trials, sentences), dtype=bool)
    change = (theirs - ours).transpose(1, 0, 2).reshape(sentences, seeds * statistics)
    moved = (exchanged.astype(np.float64) @ change).reshape(trials, seeds, statistics)
    sums, their_sums = ours.sum(axis=1), theirs.sum(axis=1)
    observed = abs((corpus_bleu(sums) - corpus_bleu(their_sums)).mean())
    by_chance = np.abs((corpus_bleu(sums + moved) - corpus_bleu(their_sums - moved)).mean(axis=-1))
    return float((np.count_nonzero(by_chance >= observed - ROUNDING) + 1) / (trials + 1))


def random_seed() -> int | None:
    """The seed that sacreBLEU takes: ``SACREBLEU_SEED`` of the environment; none for ``none``, nor for 0.

    Raises:
        UserError: it is no number.
    """
    told = os.environ.get("SACREBLEU_SEED", "12345")
    if told.lower() == "none":
        return None
    if not told.isdecimal():
        raise UserError(f"the environment's SACREBLEU_SEED={told} must be a whole number, or none.")
    return int(told) or None


def compare(tests: PairedTests, rows: Sequence[Row], reference: str | None) -> Table | None:
    """Every arm against the reference, in the order of the rows; without one against the best, the best first.

    Args:
        tests: of the rows, on one test set.
        rows: all rows of the report; what cannot be tested shows dashes.
        reference: the arm to test against, if a study has one.

    Returns:
        Columns model, BLEU, Δ BLEU, p and seeds. None where no two arms can be tested.
    """
    named = next((row for row in tests.ranked if row.arm == reference and tests.can_test(row)), None)
    base = named or next(filter(tests.can_test, tests.ranked), None)
    if base is None:
        return None
    found = {row.label: tests.test(row, base) for row in tests.ranked if row is not base}
    if not any(found.values()):
        return None
    labels = {row.label for row in tests.ranked}
    shown = list(rows) if named else [*tests.ranked, *(row for row in rows if row.label not in labels)]
    cells = [_cells(row, row.bleu(tests.test_set), found.get(row.label), row is base) for row in shown]
    header = pd.MultiIndex.from_tuples([("", name) for name in ("model", "BLEU", "Δ BLEU", "p", "seeds")])
    several = any(test and len(test.seeds) > 1 for test in found.values())
    return Table(
        title=f"Significance, {tests.test_set}",
        cells=pd.DataFrame(cells, columns=header),
        notes=[
            *_notes(base, "reference" if named else "best arm with translations", several),
            *([] if named or reference is None else [f"The study's reference, {reference}, is not among these arms."]),
        ],
        rows=shown,
    )


def notes(leaders: Mapping[str, Row | None]) -> list[str]:
    """What bold figures mean, where there are any; ``leaders`` of every test set."""
    bold = (
        f"Bold: the best BLEU of a test set where it is ahead of every other one with p < {LEVEL}, each tested apart."
    )
    return [bold] if any(leaders.values()) else []


def _cells(row: Row, bleu: float | None, test: Difference | None, is_base: bool) -> list[str]:
    score = MISSING if bleu is None else f"{bleu:.2f}"
    if is_base:
        return [row.label, score, "", "", ""]
    if test is None:
        return [row.label, score, MISSING, MISSING, MISSING]
    p = MISSING if test.p is None else f"{test.p:.3f}"
    seeds = ", ".join(map(str, test.seeds))
    return [row.label, score, f"{test.bleu:+.2f}".replace("-", "−"), p, seeds]


def _notes(base: Row, what: str, several: bool) -> list[str]:
    notes = [
        f"Against {base.label}, the {what}: difference of BLEU and p of paired approximate randomization ({TRIALS} "
        f"trials, random seed {random_seed()}, two-sided, not corrected for the number of arms), by the seeds that "
        f"both have; {MISSING} where there are no translations, or BLEU counts fewer than {FEWEST} sentences otherwise."
    ]
    models = "The test is of these trained models, and bold is too"
    if several:
        notes.append(
            "Several seeds: the difference of their mean BLEU; a sentence's translations by all seeds are exchanged "
            f"together. {models}: what another seed would change, ± tells, and not p."
        )
    else:
        notes.append(f"{models}: with one training of each, what another seed would change is not known.")
    return notes
