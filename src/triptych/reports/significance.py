"""Test by paired approximate randomisation whether the translations of two trained models are exchangeable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from triptych.reports.arm_rows import ArmRow
from triptych.reports.comparisons import ScoredTexts
from triptych.reports.differences import show_p
from triptych.reports.statistics.randomization import TRIALS, random_seed, randomized_p
from triptych.reports.stored_run import StoredRun
from triptych.reports.table import MISSING, Table, make_cells, show_signed

MIN_DIFFERING_SENTENCES = 10
"""Minimum number of sentences that must differ before p is reported. With few differences even a tiny one looks
significant."""


@dataclass(frozen=True)
class ModelDifference:
    """The difference of the trained models of two arms on a test set.

    Attributes:
        bleu: the difference in BLEU, the mean over the seeds that both arms have.
        p: two-sided p-value; None if fewer than ``MIN_DIFFERING_SENTENCES`` sentences differ in their BLEU counts.
        seeds: the seeds that both arms have.
    """

    bleu: float
    p: float | None
    seeds: tuple[int | None, ...]


class PairedTests:
    """Tests of trained models against each other on one test set, over the seeds that both arms have.

    The null hypothesis is that the translations of two arms are exchangeable sentence by sentence (Riezler and Maxwell
    2005).

    Args:
        texts: the translations of the test set.
    """

    def __init__(self, texts: ScoredTexts) -> None:
        self._texts = texts

    def test(self, row: ArmRow, base: ArmRow) -> ModelDifference | None:
        """Return the difference ``row`` minus ``base``; None if no seed of both translated the same sentences."""
        pairs = self._pairs(row, base)
        if not pairs:
            return None
        return ModelDifference(
            bleu=float(np.mean([self._bleu(run) - self._bleu(other) for run, other in pairs])),
            p=self._p(pairs) if self._count_differing(pairs) >= MIN_DIFFERING_SENTENCES else None,
            seeds=tuple(run.seed for run, _ in pairs),
        )

    def _pairs(self, row: ArmRow, base: ArmRow) -> list[tuple[StoredRun, StoredRun]]:
        """Return the runs of both arms, seed by seed, that translated the same sentences."""
        theirs = {run.seed: run for run in base.finished if self._texts.has_bleu(run)}
        pairs = [(run, theirs[run.seed]) for run in row.finished if self._texts.has_bleu(run) and run.seed in theirs]
        return [pair for pair in pairs if self._texts.share_sentences([*pairs[0], *pair])]

    def _p(self, pairs: Sequence[tuple[StoredRun, StoredRun]]) -> float:
        ours, theirs = (np.stack([self._texts.counts(run) for run in side]) for side in zip(*pairs, strict=True))
        return randomized_p(ours, theirs, TRIALS, random_seed())

    def _count_differing(self, pairs: Sequence[tuple[StoredRun, StoredRun]]) -> int:
        """Return the number of sentences whose BLEU counts differ in any seed; exchanging others changes nothing."""
        unequal = [np.any(self._texts.counts(run) != self._texts.counts(other), axis=1) for run, other in pairs]
        return int(np.any(unequal, axis=0).sum())

    def _bleu(self, run: StoredRun) -> float:
        return run.tests[self._texts.test_set]["bleu"]


def compare_models(rows: Sequence[ArmRow], base: ArmRow, texts: ScoredTexts) -> Table | None:
    """Return a table of the trained models of every arm against those of another arm.

    Args:
        rows: the rows of the table, in order. What cannot be tested shows dashes.
        base: the arm to test against.
        texts: the translations of the test set.

    Returns:
        Columns arm, Δ BLEU, p and seeds. None if no two arms can be tested.
    """
    tests = PairedTests(texts)
    found = {row.label: tests.test(row, base) for row in rows if row is not base}
    if not any(found.values()):
        return None
    cells = [[row.label, *_cells(found.get(row.label), row is base)] for row in rows]
    notes = [
        f"p of the trained models against those of {base.label}: paired approximate randomisation of sentences "
        f"({TRIALS:,} trials, random seed {random_seed()}, two-sided), over the seeds that both arms have. A "
        "sentence's translations by all seeds are exchanged together. "
        f"{MISSING}: there are no translations, or fewer than {MIN_DIFFERING_SENTENCES} sentences differ in their BLEU "
        "counts.",
        "This test says nothing of the architectures: two trainings of one architecture that differ in their seed "
        "alone can have p < 0.05.",
    ]
    return Table(
        f"These trained models, {texts.test_set}", make_cells(("arm", "Δ BLEU", "p", "seeds"), cells), notes, rows
    )


def _cells(test: ModelDifference | None, is_base: bool) -> list[str]:
    if is_base:
        return ["", "", ""]
    if test is None:
        return [MISSING] * 3
    p = MISSING if test.p is None else show_p(test.p)
    return [show_signed(test.bleu, 2), p, ", ".join(map(str, test.seeds))]
