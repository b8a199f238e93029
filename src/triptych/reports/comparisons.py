"""The arms of a report compared in one measure: values by seed, and the intervals of their differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from triptych.evaluation.bleu_statistics import bleu_statistics
from triptych.reports.arm_rows import ArmRow
from triptych.reports.measures import SENTENCE_NATS, Measure
from triptych.reports.scores import TEST_NATS, WORD_NATS
from triptych.reports.statistics.difference import Difference
from triptych.reports.statistics.interaction import (
    Blocks,
    bleu_interaction_variance,
    common_blocks,
    deviations,
    sum_blocks,
    variance_of_sum,
)
from triptych.reports.statistics.randomization import random_seed
from triptych.reports.statistics.seeds import SeedVariances, seed_variances
from triptych.reports.statistics.sentences import RESAMPLES, bootstrap_bleu, draw_resamples
from triptych.reports.stored_run import StoredRun, TranslatedText


class ScoredTexts:
    """The text of one test set and what BLEU counts in the translations, read and counted once.

    Args:
        test_set: the name of the test set.
    """

    def __init__(self, test_set: str) -> None:
        self.test_set = test_set
        self._texts: dict[StoredRun, TranslatedText | None] = {}
        self._counts: dict[StoredRun, np.ndarray] = {}
        self._bootstrapped: dict[StoredRun, np.ndarray] = {}
        self._resampled: dict[int, np.ndarray] = {}

    def text(self, run: StoredRun) -> TranslatedText | None:
        """Return the text of a run; None if it is not there."""
        if run not in self._texts:
            self._texts[run] = run.text(self.test_set)
        return self._texts[run]

    def has_bleu(self, run: StoredRun) -> bool:
        """Return whether a run has its translations and their BLEU."""
        return "bleu" in run.tests.get(self.test_set, {}) and self.text(run) is not None

    def nats(self, runs: Sequence[StoredRun]) -> np.ndarray | None:
        """Return each reference's negative log-likelihood, the mean over runs, (sentences,); None if a run lacks it."""
        found = [text.scores.get(SENTENCE_NATS) if (text := self.text(run)) else None for run in runs]
        return None if any(values is None for values in found) else np.mean(np.array(found, dtype=np.float64), axis=0)

    def counts(self, run: StoredRun) -> np.ndarray:
        """Return the ``bleu_statistics`` of a run that has BLEU, (sentences, statistics)."""
        if run not in self._counts:
            text = self.text(run)
            assert text is not None
            signature = run.tests[self.test_set]["bleu_signature"]
            self._counts[run] = bleu_statistics(text.translations, text.references, signature)
        return self._counts[run]

    def bootstrapped(self, run: StoredRun) -> np.ndarray:
        """Return the BLEU of a run on each resample of the test set, (resamples,)."""
        if run not in self._bootstrapped:
            counts = self.counts(run)
            sentences = len(counts)
            if sentences not in self._resampled:
                self._resampled[sentences] = draw_resamples(sentences, RESAMPLES, random_seed())
            self._bootstrapped[run] = bootstrap_bleu(counts[None], self._resampled[sentences])[:, 0]
        return self._bootstrapped[run]

    def share_sentences(self, runs: Sequence[StoredRun]) -> bool:
        """Return whether all runs have their texts, of the same sentences."""
        found = [self.text(run) for run in runs]
        first = found[0] if found else None
        return first is not None and all(text is not None and text.references == first.references for text in found)


class Comparisons:
    """Differences of arms in one measure, each with an interval where seeds allow.

    Args:
        rows: the arms of the report.
        measure: the measure.
        texts: the text of each test set, which gives BLEU and the log-likelihood of references their variance between
            samples of sentences. Other measures have the variance between seeds alone.
        comparisons: number of differences that are judged together (Bonferroni).
    """

    def __init__(
        self, rows: Sequence[ArmRow], measure: Measure, texts: Mapping[str, ScoredTexts], comparisons: int
    ) -> None:
        self.measure = measure
        self.comparisons = comparisons
        sampled = measure.key in (TEST_NATS, WORD_NATS, "bleu")
        self._texts = [texts[name] for name in measure.test_sets] if sampled else []
        self._runs = {row.label: self._usable(row) for row in rows}

    @cached_property
    def seeds(self) -> SeedVariances | None:
        """The variances between seeds; None if no arm has two."""
        trainings = {label: tuple(sorted(run.training for run in runs)) for label, runs in self._runs.items()}
        return seed_variances({label: self.values(label) for label in self._runs}, trainings)

    def values(self, label: str) -> list[float]:
        """Return the value of each seed of an arm."""
        return [value for run in self._runs[label] if (value := self.measure.value(run)) is not None]

    def mean(self, row: ArmRow) -> float | None:
        """Return the mean over the seeds of an arm; None if it has no value."""
        values = self.values(row.label)
        return fmean(values) if values else None

    def can_compare(self, row: ArmRow, base: ArmRow) -> bool:
        """Return whether both arms have values, of the same sentences if it matters."""
        ours, theirs = self._runs[row.label], self._runs[base.label]
        if not ours or not theirs:
            return False
        return all(texts.share_sentences([*ours, *theirs]) for texts in self._texts)

    def estimate(self, row: ArmRow, base: ArmRow) -> float | None:
        """Return the difference ``row`` minus ``base`` of the means over seeds; None if they cannot be compared."""
        if not self.can_compare(row, base):
            return None
        return fmean(self.values(row.label)) - fmean(self.values(base.label))

    def difference(self, row: ArmRow, base: ArmRow, comparisons: int | None = None) -> Difference | None:
        """Return the difference ``row`` minus ``base``; None if they cannot be compared, or no arm has two seeds.

        Args:
            row: the arm.
            base: the arm that it is compared with.
            comparisons: number of differences that are judged together, if not that of the report.
        """
        estimate, seeds = self.estimate(row, base), self.seeds
        if estimate is None or seeds is None:
            return None
        ours, theirs = self._runs[row.label], self._runs[base.label]
        variance, sentences = self._sentence_variance(ours, theirs)
        return Difference(
            estimate=estimate,
            counts=(len(ours), len(theirs)),
            seeds=seeds.between(row.label, base.label),
            sentence_variance=variance,
            sentences=sentences,
            comparisons=comparisons or self.comparisons,
        )

    def _sentence_variance(self, ours: Sequence[StoredRun], theirs: Sequence[StoredRun]) -> tuple[float, int | None]:
        """Return the variance of a difference between samples of sentences, and their number; 0 and None if unknown."""
        parts = [self._variance_on(texts, ours, theirs) for texts in self._texts]
        counts = [count for _, count in parts if count is not None and count > 1]
        if not parts or len(counts) < len(parts):
            return 0.0, None
        if len(parts) > 1 and (blocks := self._blocks(ours[0])) is not None:
            return self._variance_over_blocks(blocks, ours, theirs)
        # Two test sets of other text are independent. The smaller one has the fewer degrees of freedom, and so decides.
        return sum(variance for variance, _ in parts), min(counts)

    def _variance_on(
        self, texts: ScoredTexts, ours: Sequence[StoredRun], theirs: Sequence[StoredRun]
    ) -> tuple[float, int | None]:
        """Return the variance of a difference on one test set, and its sentences; 0 and None if unknown."""
        if self.measure.key == "bleu":
            means = [np.mean([texts.bootstrapped(run) for run in side], axis=0) for side in (ours, theirs)]
            return float(np.var(means[0] - means[1], ddof=1)), len(texts.counts(ours[0]))
        found = self._deviations(texts, ours, theirs)
        return (0.0, None) if found is None else (variance_of_sum(found), len(found))

    def _deviations(
        self, texts: ScoredTexts, ours: Sequence[StoredRun], theirs: Sequence[StoredRun]
    ) -> NDArray[np.float64] | None:
        """Return the ``deviations`` of a difference in nats, of each sentence; None if a run lacks its nats."""
        one, other, text = texts.nats(ours), texts.nats(theirs), texts.text(ours[0])
        if one is None or other is None or text is None:
            return None
        per_word = self.measure.key == WORD_NATS
        sizes = [len(line.split()) if per_word else 1 for line in text.references]
        return deviations(one, other, np.array(sizes, np.float64))

    def _blocks(self, run: StoredRun) -> tuple[Blocks, Blocks] | None:
        """Return the ``common_blocks`` of both test sets; None if they hold other text, or less than two blocks."""
        first, second = (text.references if (text := texts.text(run)) else [] for texts in self._texts)
        found = common_blocks(first, second)
        return found if found is not None and found[0][-1] > 0 else None

    def _variance_over_blocks(
        self, blocks: tuple[Blocks, Blocks], ours: Sequence[StoredRun], theirs: Sequence[StoredRun]
    ) -> tuple[float, int]:
        """Return the variance of a difference of differences on two test sets of the same text, and their blocks."""
        count, both = int(blocks[0][-1]) + 1, list(zip(self._texts, blocks, strict=True))
        if self.measure.key == "bleu":
            first, second = (
                [np.stack([sum_blocks(texts.counts(run), of) for run in side]) for side in (ours, theirs)]
                for texts, of in both
            )
            return bleu_interaction_variance(first, second, random_seed()), count
        found = [(self._deviations(texts, ours, theirs), of) for texts, of in both]
        one, other = (sum_blocks(each, of) for each, of in found if each is not None)
        return variance_of_sum(one - other), count

    def _usable(self, row: ArmRow) -> list[StoredRun]:
        """Return the runs of an arm that have the measure, and, where sentences are resampled, their text."""
        found = [run for run in row.finished if self.measure.value(run) is not None]
        return [run for run in found if all(texts.text(run) is not None for texts in self._texts)]
