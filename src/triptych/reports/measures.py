"""The measures that arms are compared in, and which of them decides a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from triptych.reports.scores import TEST_NATS, VALIDATION_LOSS, describe
from triptych.reports.stored_run import StoredRun, metric_names, test_sets
from triptych.reports.table import show_signed

LIKELIHOOD = "nats"
"""The primary outcome of a study that names none: log-likelihood of the test set, or else of the validation set."""
SENTENCE_NATS = "nats"
"""The name of a sentence's negative log-likelihood among the ``scores`` of a run's text."""


@dataclass(frozen=True)
class Measure:
    """A figure of a run that arms are compared in.

    Attributes:
        key: its key in ``result.json``.
        test_set: the test set that it is a score of; None for the validation loss.
        name: what tables call it.
        unit: the unit of a difference.
        higher_is_better: whether a higher value is better.
        margin: the difference within which arms count as equivalent, in its unit; None if nobody named one.
        decimals: decimals of a difference in tables.
        baseline: a test set whose score is subtracted. The difference of two arms is then how much larger it is on
            ``test_set`` than on this one. None for the score of one test set.
    """

    key: str
    test_set: str | None
    name: str
    unit: str
    higher_is_better: bool
    margin: float | None
    decimals: int
    baseline: str | None = None

    @property
    def superlative(self) -> str:
        """How the best value is called."""
        return "Highest" if self.higher_is_better else "Lowest"

    @property
    def title(self) -> str:
        """Its name, and that of its test sets."""
        return f"{self.name}, {' minus '.join(self.test_sets)}" if self.test_sets else self.name

    @property
    def with_unit(self) -> str:
        """Its title, with the unit if that is another word."""
        return self.title if self.unit == self.name else f"{self.title} ({self.unit})"

    @property
    def test_sets(self) -> list[str]:
        """The test sets that it is computed from: none, one, or one and its baseline."""
        return [name for name in (self.test_set, self.baseline) if name]

    def value(self, run: StoredRun) -> float | None:
        """Return the figure of a run; None if the run has none."""
        validation = (run.result or {}).get("validation") or {}
        scores = [run.tests.get(name, {}) for name in self.test_sets] or [validation]
        found = [float(value) for each in scores if (value := each.get(self.key)) is not None]
        return found[0] - sum(found[1:]) if len(found) == len(scores) else None

    def text(self, difference: float) -> str:
        """Return a difference as tables show it, with a sign."""
        return show_signed(difference, self.decimals)


def find_measure(key: str, test_set: str, margin: float | None = None, baseline: str | None = None) -> Measure:
    """Return a measure by its key.

    Args:
        key: of a score, as ``scores.describe`` takes it.
        test_set: the test set; the validation loss has none.
        margin: instead of the measure's own.
        baseline: a test set whose score is subtracted, as in ``Measure``.
    """
    score = describe(key)
    return Measure(
        key=key,
        test_set=None if key == VALIDATION_LOSS else test_set,
        name=score.name or score.header,
        unit=score.unit or score.header,
        higher_is_better=score.higher_is_better,
        margin=score.margin if margin is None else margin,
        decimals=score.decimals,
        baseline=baseline,
    )


def primary_measure(
    runs: Sequence[StoredRun],
    primary: str,
    margin: float | None,
    test_set: str | None = None,
    baseline: str | None = None,
) -> Measure | None:
    """Return the measure that decides a study; None if no run has it.

    ``LIKELIHOOD`` is the log-likelihood of a test set in nats a sentence. Where a finished run lacks it, it is the
    validation loss, unless the runs differ in their tokenizers, whose tokens cannot be compared. Then it is BLEU. Runs
    that diverged have no figures, and do not count.

    Args:
        runs: the runs of all arms.
        primary: what the study names: ``LIKELIHOOD`` or the key of a measure.
        margin: the study's, in the unit of the measure.
        test_set: the test set. By default it is the first in alphabetical order, which the validation set resembles.
        baseline: a test set whose score is subtracted, as in ``Measure``.
    """
    finished = [run for run in runs if run.result and not run.result.get("diverged")]
    names = [test_set] if test_set else test_sets(runs)
    keys = [primary]
    if primary == LIKELIHOOD:
        comparable = test_set is None and share_tokenizer(finished)
        keys = [TEST_NATS, *([VALIDATION_LOSS] if comparable else []), "bleu"]
    for key in keys:
        if key != VALIDATION_LOSS and not names:
            continue
        measure = find_measure(key, names[0] if names else "", margin if key == keys[0] else None, baseline)
        measured = [measure.value(run) is not None for run in finished]
        if any(measured) and (all(measured) or key == keys[-1]):
            return measure
    return None


def share_tokenizer(runs: Sequence[StoredRun]) -> bool:
    """Return whether all finished runs have one tokenizer, so that their losses a token can be compared."""
    return len({str((run.result or {}).get("tokenizer")) for run in runs if run.result}) == 1


def measures_of(runs: Sequence[StoredRun], primary: str, margin: float | None) -> list[Measure]:
    """Return the measures of a report's tables of differences: the primary one, then BLEU of each test set."""
    first = primary_measure(runs, primary, margin)
    found = [first] if first else []
    found += [find_measure("bleu", name) for name in test_sets(runs) if "bleu" in metric_names(runs, name)]
    return list({(measure.key, measure.test_set): measure for measure in reversed(found)}.values())[::-1]
