"""What the page of a report needs to show translations, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from triptych.reports.arm_rows import ArmRow
from triptych.reports.ngrams import ORDERS
from triptych.reports.translations import TranslatedSet

NGRAMS = 400
"""N-grams of each length that a page has: those whose matches differ most between arms, or from the references where
there is one arm."""


def page_data(
    sets: Sequence[TranslatedSet], rows: Sequence[ArmRow], colours: Mapping[str, str], reference: str | None
) -> dict[str, Any]:
    """Return the chosen sentences and n-grams of all test sets.

    Args:
        sets: the test sets with their translations.
        rows: the arms of the report, in its order.
        colours: of each arm, by its label.
        reference: the arm that a study compares the others with, if any.

    Returns:
        ``arms`` (label and colour of each), ``reference`` (the position of that arm, or None), and ``sets``: of each
        its name, its number of sentences, whether it has sources, its seeds, its ``sentences`` and its ``ngrams``.
    """
    shown = {arm for one in sets for arm in one.arms}
    labels = [row.label for row in rows if row.label in shown]
    compared = [row.label for row in rows if row.arm == reference and row.label in shown]
    return {
        "arms": [{"label": label, "colour": colours[label]} for label in labels],
        "reference": labels.index(compared[0]) if compared else None,
        "sets": [_set_data(one, labels) for one in sets],
    }


def _set_data(translated: TranslatedSet, labels: Sequence[str]) -> dict[str, Any]:
    chosen = translated.chosen
    table = translated.translations[translated.translations["sentence"].isin(chosen.index)]
    by_sentence = {int(number): found for number, found in table.groupby("sentence")}
    return {
        "name": translated.name,
        "size": len(translated.references),
        "hasSources": translated.sources is not None,
        "seeds": ["none" if seed is None else str(seed) for seed in translated.seeds],
        "leftOut": list(translated.left_out),
        "sentences": [
            {
                "number": number,
                "atRandom": at_random,
                "source": translated.sources[number - 1] if translated.sources else None,
                "reference": translated.references[number - 1],
                **_translations(by_sentence[number], labels, translated.seeds),
            }
            for number, at_random in zip(map(int, chosen.index), map(bool, chosen["at_random"]), strict=True)
        ],
        "ngrams": _ngram_data(translated.ngrams.reindex(columns=labels)),
    }


def _translations(found: pd.DataFrame, labels: Sequence[str], seeds: Sequence[int | None]) -> dict[str, Any]:
    """Return the translations of one sentence, equal ones once.

    Returns:
        ``texts``, ``chrf`` of each, and ``which``: for each arm and seed the position of its text, or None.
    """
    texts = found.drop_duplicates("translation")
    positions = {text: place for place, text in enumerate(texts["translation"])}
    which: list[list[int | None]] = [[None] * len(seeds) for _ in labels]
    for arm, seed, text in zip(found["arm"], found["seed"], found["translation"], strict=True):
        which[labels.index(arm)][seeds.index(seed)] = positions[text]
    return {"texts": list(positions), "chrf": [round(value, 1) for value in texts["chrf"]], "which": which}


def _ngram_data(ngrams: pd.DataFrame) -> list[list[Any]]:
    """Return a line for each n-gram: its length, the n-gram, its occurrences in the references, and each arm's matches.

    An arm without translations of the test set has None.
    """
    highest = ngrams.max(axis=1) if ngrams.shape[1] > 1 else ngrams.index.get_level_values("references")
    spread = highest - ngrams.min(axis=1)
    lines: list[list[Any]] = []
    for order in ORDERS:
        ranked = spread[spread.index.get_level_values("order") == order].sort_values(ascending=False, kind="stable")
        for (_, ngram, count), values in ngrams.loc[ranked.index[:NGRAMS]].round(1).iterrows():
            matches = [None if pd.isna(value) else value for value in values]
            lines.append([order, ngram, int(count), matches])
    return lines
