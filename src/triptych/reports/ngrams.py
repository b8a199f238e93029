"""Which n-grams of the references each arm has in its translations, and how often.

As the n-gram analysis of compare-mt (Neubig et al. 2019, https://aclanthology.org/N19-4007, section 3.4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import pandas as pd

from triptych.evaluation.word_recall import words_of

ORDERS = (1, 2, 3, 4)
"""Lengths of the n-grams, in words; those of length 1 are the words."""


def matched_ngrams(arms: Mapping[str, Sequence[Sequence[str]]], references: Sequence[str]) -> pd.DataFrame:
    """Count the n-grams of the references that arms translated alike.

    An n-gram is matched as often as it occurs in both the translation and the reference of a sentence, as in BLEU.
    Words are runs of letters and digits, in lower case.

    Args:
        arms: the translations of the references by each seed of an arm, by the name of the arm.
        references: detokenised, as the translations.

    Returns:
        A line for each n-gram that occurs in a reference, indexed by ``order`` (its length), ``ngram`` and
        ``references`` (its occurrences there). A column for each arm has its matches, the mean over the arm's seeds.
    """
    wanted = [Counter(_ngrams(reference)) for reference in references]
    totals = Counter(chain.from_iterable(counts.elements() for counts in wanted))
    index = pd.MultiIndex.from_tuples(
        [(len(ngram), " ".join(ngram), count) for ngram, count in totals.items()],
        names=["order", "ngram", "references"],
    )
    columns: dict[str, list[float]] = {}
    known: dict[tuple[int, str], Counter[tuple[str, ...]]] = {}
    for arm, seeds in arms.items():
        matches: Counter[tuple[str, ...]] = Counter()
        for translations in seeds:
            for place, translation in enumerate(translations):
                if (place, translation) not in known:  # arms that differ in their search alone translate much alike
                    known[place, translation] = wanted[place] & Counter(_ngrams(translation))
                matches.update(known[place, translation])
        columns[arm] = [matches[ngram] / len(seeds) for ngram in totals]
    return pd.DataFrame(columns, index=index)


def _ngrams(line: str) -> Iterator[tuple[str, ...]]:
    words = words_of(line)
    for order in ORDERS:
        yield from zip(*(words[start:] for start in range(order)), strict=False)
