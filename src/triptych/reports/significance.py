"""Test by paired approximate randomization whether one arm is ahead of another by more than chance."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sacrebleu.significance import PairedTest

from triptych.errors import UserError
from triptych.evaluation.bleu_statistics import bleu_from_signature, bleu_statistics, corpus_bleu
from triptych.reports.arm_rows import ArmRow, runs_of
from triptych.reports.stored_run import StoredRun, TranslatedText
from triptych.reports.tables import MISSING, Table

TRIALS = 1000
"""Number of random exchanges."""
LEVEL = 0.05
"""The p-value below which a difference is called significant."""
MIN_DIFFERING_SENTENCES = 10
"""Minimum number of sentences that must differ before p is reported. sacreBLEU drops ties, so with few differences even
a tiny one looks significant."""
ROUNDING = 1e-9
"""BLEU points by which two equal differences may differ through rounding."""


@dataclass(frozen=True)
class Difference:
    """The difference of two arms on a test set.

    Attributes:
        bleu: the difference in BLEU, the mean over the seeds that both arms have.
        p: two-sided p-value; None if fewer than ``MIN_DIFFERING_SENTENCES`` sentences differ in their BLEU counts.
        seeds: the seeds that both arms have.
    """

    bleu: float
    p: float | None
    seeds: tuple[int | None, ...]


class PairedTests:
    """Tests of arms against each other on one test set, over the seeds that both arms have.

    The null hypothesis is that the translations of two arms are exchangeable sentence by sentence (Riezler and Maxwell
    2005). With one seed p is sacreBLEU's own; with several it comes from ``randomized_p``.

    Args:
        rows: the arms. Those without BLEU on the test set are left out.
        test_set: the name of the test set.
    """

    def __init__(self, rows: Sequence[ArmRow], test_set: str) -> None:
        self.test_set = test_set
        scores = {row.label: bleu for row in rows if (bleu := row.bleu(test_set)) is not None}
        self.ranked = sorted((row for row in rows if row.label in scores), key=lambda row: -scores[row.label])
        scored = [run for run in runs_of(self.ranked) if "bleu" in run.tests.get(test_set, {})]
        texts = {run: run.text(test_set) for run in scored}
        self._texts: dict[StoredRun, TranslatedText] = {run: text for run, text in texts.items() if text}
        self._statistics: dict[StoredRun, np.ndarray] = {}

    def can_test(self, row: ArmRow) -> bool:
        """Return whether a run of the arm has its translations."""
        return any(run in self._texts for run in row.finished)

    def test(self, row: ArmRow, base: ArmRow) -> Difference | None:
        """Return the difference ``row`` minus ``base``; None if no seed of both translated the same sentences."""
        pairs = self._pairs(row, base)
        if not pairs:
            return None
        return Difference(
            bleu=float(np.mean([self._bleu(run) - self._bleu(other) for run, other in pairs])),
            p=self._p(pairs) if self._count_differing(pairs) >= MIN_DIFFERING_SENTENCES else None,
            seeds=tuple(run.seed for run, _ in pairs),
        )

    def leader(self) -> ArmRow | None:
        """Return the arm that is ahead of every other with p < ``LEVEL``, if there is one."""
        if len(self.ranked) < 2:
            return None
        best, *others = self.ranked
        # The closest arms are tested first, so that mostly one test settles it.
        found = (self.test(best, other) for other in others)
        return best if all(test and test.bleu > 0 and test.p is not None and test.p < LEVEL for test in found) else None

    def _pairs(self, row: ArmRow, base: ArmRow) -> list[tuple[StoredRun, StoredRun]]:
        """Return the runs of both arms, seed by seed, that translated the same sentences."""
        theirs = {run.seed: run for run in base.finished if run in self._texts}
        pairs = [(run, theirs[run.seed]) for run in row.finished if run in self._texts and run.seed in theirs]
        references = [[self._texts[run].references for run in pair] for pair in pairs]
        return [pair for pair, both in zip(pairs, references, strict=True) if both == [references[0][0]] * 2]

    def _p(self, pairs: Sequence[tuple[StoredRun, StoredRun]]) -> float:
        if len(pairs) > 1:
            ours, theirs = (np.stack([self._counts(run) for run in side]) for side in zip(*pairs, strict=True))
            return randomized_p(ours, theirs, TRIALS, random_seed())
        ((run, base),) = pairs
        systems: list[tuple[str, Sequence[str]]] = [
            ("base", self._texts[base].translations),
            ("other", self._texts[run].translations),
        ]
        metrics = {"BLEU": bleu_from_signature(run.tests[self.test_set]["bleu_signature"])}
        test = PairedTest(systems, metrics, [self._texts[run].references], test_type="ar", n_samples=TRIALS)
        result: Any = test()[1]["BLEU"][1]
        return result.p_value

    def _counts(self, run: StoredRun) -> np.ndarray:
        """Return the ``bleu_statistics`` of a run, computed once."""
        if run not in self._statistics:
            text, signature = self._texts[run], run.tests[self.test_set]["bleu_signature"]
            self._statistics[run] = bleu_statistics(text.translations, text.references, signature)
        return self._statistics[run]

    def _count_differing(self, pairs: Sequence[tuple[StoredRun, StoredRun]]) -> int:
        """Return the number of sentences whose BLEU counts differ in any seed; exchanging others changes nothing."""
        unequal = [np.any(self._counts(run) != self._counts(other), axis=1) for run, other in pairs]
        return int(np.any(unequal, axis=0).sum())

    def _bleu(self, run: StoredRun) -> float:
        return run.tests[self.test_set]["bleu"]


def randomized_p(ours: np.ndarray, theirs: np.ndarray, trials: int, seed: int | None) -> float:
    """Return the two-sided p of the difference in BLEU of two arms, each the mean over its seeds.

    A sentence is one observation, however many seeds translated it: its translations by all seeds change sides
    together. Exchanges that tie with the observed difference count as chance, as in an exact test. sacreBLEU leaves
    them out, which matters only where few sentences differ.

    Args:
        ours: ``bleu_statistics`` of one arm, (seeds, sentences, statistics).
        theirs: those of the other arm, the same seeds in the same order.
        trials: the number of random exchanges.
        seed: the seed of the random generator; None for a different one each time.
    """
    seeds, sentences, statistics = ours.shape
    exchanged = np.random.default_rng(seed).integers(2, size=(trials, sentences), dtype=bool)
    change = (theirs - ours).transpose(1, 0, 2).reshape(sentences, seeds * statistics)
    moved = (exchanged.astype(np.float64) @ change).reshape(trials, seeds, statistics)
    our_sums, their_sums = ours.sum(axis=1), theirs.sum(axis=1)
    observed = abs((corpus_bleu(our_sums) - corpus_bleu(their_sums)).mean())
    by_chance = np.abs((corpus_bleu(our_sums + moved) - corpus_bleu(their_sums - moved)).mean(axis=-1))
    return float((np.count_nonzero(by_chance >= observed - ROUNDING) + 1) / (trials + 1))


def random_seed() -> int | None:
    """Return the seed that sacreBLEU takes from the environment's ``SACREBLEU_SEED``; None for ``none`` and for 0.

    Raises:
        UserError: it is not a whole number.
    """
    given = os.environ.get("SACREBLEU_SEED", "12345")
    if given.lower() == "none":
        return None
    if not given.isdecimal():
        raise UserError(f"the environment's SACREBLEU_SEED={given} must be a whole number, or none.")
    return int(given) or None


def compare(tests: PairedTests, rows: Sequence[ArmRow], reference: str | None) -> Table | None:
    """Return a table of every arm against the reference, or against the best arm if there is no reference.

    Args:
        tests: the tests of the rows on one test set.
        rows: all rows of the report, in its order. What cannot be tested shows dashes.
        reference: the arm to test against, if a study has one.

    Returns:
        Columns model, BLEU, Δ BLEU, p and seeds. The lines are in the order of ``rows``, or, without a reference, the
        best arm first. None if no two arms can be tested.
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


def notes(leaders: Mapping[str, ArmRow | None]) -> list[str]:
    """Return what bold figures mean, if there are any.

    Args:
        leaders: the leading arm of each test set, if it has one.
    """
    bold = f"Bold: the best BLEU of a test set, if it is ahead of every other with p < {LEVEL} in a test of the two."
    return [bold] if any(leaders.values()) else []


def _cells(row: ArmRow, bleu: float | None, test: Difference | None, is_base: bool) -> list[str]:
    score = MISSING if bleu is None else f"{bleu:.2f}"
    if is_base:
        return [row.label, score, "", "", ""]
    if test is None:
        return [row.label, score, MISSING, MISSING, MISSING]
    p = MISSING if test.p is None else f"{test.p:.3f}"
    seeds = ", ".join(map(str, test.seeds))
    return [row.label, score, f"{test.bleu:+.2f}".replace("-", "−"), p, seeds]


def _notes(base: ArmRow, role: str, several: bool) -> list[str]:
    notes = [
        f"Against {base.label}, the {role}: difference in BLEU, and p by paired approximate randomization ({TRIALS} "
        f"trials, random seed {random_seed()}, two-sided, not corrected for the number of arms), over the seeds that "
        f"both arms have. {MISSING}: there are no translations, or fewer than {MIN_DIFFERING_SENTENCES} sentences "
        "differ in their BLEU counts."
    ]
    if several:
        notes.append(
            "With several seeds, the difference is that of the mean BLEU, and a sentence's translations by all seeds "
            "are exchanged together. The test, and with it bold type, is conditional on these trained models. The "
            "variance between seeds is the ±, not p."
        )
    else:
        notes.append(
            "The test, and with it bold type, is conditional on these trained models. With one training of each arm, "
            "the variance between seeds is not known."
        )
    return notes
