"""The translations of a test set by all arms, and the sentences on which the arms disagree most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from triptych.evaluation.sentence_chrf import sentence_chrf
from triptych.reports.arm_rows import ArmRow, runs_of
from triptych.reports.ngrams import matched_ngrams
from triptych.reports.stored_run import TranslatedText, test_sets

MOST_DIFFERENT, AT_RANDOM = 200, 100
"""Sentences of a test set that a page shows: those on which the arms disagree most, and others drawn at random."""
DRAW_SEED = 1
"""Seed of that draw, so that a report shows the same sentences every time."""


@dataclass(frozen=True)
class TranslatedSet:
    """A test set with the translations of all arms.

    Attributes:
        name: of the test set.
        references: a line each.
        sources: a line each; None where no run stored them.
        translations: a line for each arm, seed and sentence, with the columns ``arm`` (its label), ``seed`` (None
            where the run has none), ``sentence`` (its place in the test set, from 1), ``translation`` and ``chrf`` (0
            to 100).
        left_out: labels of the arms that have translations of other text under the same name.
    """

    name: str
    references: list[str]
    sources: list[str] | None
    translations: pd.DataFrame
    left_out: tuple[str, ...] = ()

    @property
    def arms(self) -> list[str]:
        """Labels of the arms that have translations, in the order of the report."""
        return list(dict.fromkeys(self.translations["arm"]))

    @property
    def seeds(self) -> list[int | None]:
        """The seeds of all arms, each once."""
        return list(dict.fromkeys(self.translations["seed"]))

    @property
    def disagreement(self) -> pd.Series:
        """How far apart the arms are on each sentence, in points of chrF, indexed by ``sentence``.

        It is the highest minus the lowest sentence-level chrF of the arms with the same seed, averaged over seeds.
        Where no two arms share a seed it is 100 minus chrF: the distance from the reference.
        """
        groups = self.translations.groupby(["seed", "sentence"], dropna=False, sort=False)["chrf"]
        spread = (groups.max() - groups.min())[groups.count() > 1]
        if spread.empty:
            spread = 100 - groups.mean()
        return spread.groupby("sentence").mean().sort_index()

    @property
    def chosen(self) -> pd.DataFrame:
        """The sentences that a page shows, indexed by ``sentence``.

        Columns: ``disagreement``, and ``at_random``: whether the sentence is one of the ``AT_RANDOM`` others.
        """
        ordered = self.disagreement.sort_values(ascending=False, kind="stable")
        most, others = ordered.iloc[:MOST_DIFFERENT], ordered.iloc[MOST_DIFFERENT:].sort_index()
        drawn = others.sample(min(AT_RANDOM, len(others)), random_state=np.random.default_rng(DRAW_SEED))
        found = pd.concat([most, drawn.sort_index()])
        return pd.DataFrame({"disagreement": found, "at_random": [False] * len(most) + [True] * len(drawn)})

    @property
    def ngrams(self) -> pd.DataFrame:
        """How often each arm has the n-grams of the references: ``ngrams.matched_ngrams``, means over its seeds."""
        lines = {
            arm: [list(seed["translation"]) for _, seed in found.groupby("seed", dropna=False, sort=False)]
            for arm, found in self.translations.groupby("arm", sort=False)
        }
        return matched_ngrams(lines, self.references)


def translated_sets(rows: Sequence[ArmRow]) -> list[TranslatedSet]:
    """Return the test sets that any arm has translations of, in alphabetical order.

    Raises:
        UserError: a run's text cannot be read.
    """
    found = (translated_set(rows, name) for name in test_sets(runs_of(rows)))
    return [one for one in found if one]


def translated_set(rows: Sequence[ArmRow], name: str) -> TranslatedSet | None:
    """Return the translations of one test set by all arms, None if no arm has any.

    Raises:
        UserError: a run's text cannot be read.
    """
    frames, left_out = [], []
    shared: TranslatedText | None = None
    sources = None
    for row in rows:
        for run in row.finished:
            text = run.text(name) if name in run.tests else None
            if text is None:
                continue
            shared = shared or text
            if text.references != shared.references or (sources and text.sources not in (None, sources)):
                left_out.append(row.label)
                continue
            sources = sources or text.sources
            columns = {
                "arm": row.label,
                "seed": pd.Series([run.seed] * len(text.translations), dtype=object),
                "sentence": range(1, len(text.translations) + 1),
                "translation": text.translations,
            }
            frames.append(pd.DataFrame(columns))
    if shared is None:
        return None
    table = pd.concat(frames, ignore_index=True)
    scored = sentence_chrf(table["translation"], [shared.references[i - 1] for i in table["sentence"]])
    return TranslatedSet(name, shared.references, sources, table.assign(chrf=scored), tuple(dict.fromkeys(left_out)))
