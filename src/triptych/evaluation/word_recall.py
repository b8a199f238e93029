"""Recall of the words of the references, by how often they occur in training.

As the accuracy by frequency of compare-mt (Neubig et al. 2019, https://aclanthology.org/N19-4007).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TypedDict

from triptych.data.corpus import Corpus
from triptych.data.pairs import TRAIN
from triptych.evaluation.value_ranges import value_ranges


class FrequencyBucket(TypedDict):
    """Recall of the reference words that occur ``low <= times < high`` in training.

    ``high`` is None for the last bucket. ``found`` of ``words`` are in the translations, and ``recall`` is their share,
    None for a bucket without words.
    """

    label: str
    low: int
    high: int | None
    words: int
    found: int
    recall: float | None


def words_of(line: str) -> list[str]:
    """Return the words of a line in lower case: runs of letters and digits, so that "l'homme" has two."""
    return re.findall(r"\w+", line.lower())


def training_counts(corpus: Corpus, language: str) -> Counter[str]:
    """Return how often each word of a language occurs as target text in training."""
    counts: Counter[str] = Counter()
    lines = iter(corpus.splits[TRAIN].tgt)
    for route, size in corpus.sections[TRAIN]:
        section = islice(lines, size)
        if route[-1] == language:
            counts.update(word for line in section for word in words_of(line))
        else:
            next(islice(lines, size - 1, size), None)  # leave out this section
    return counts


def recall_by_frequency(
    translations: Iterable[str], references: Iterable[str], counts: Mapping[str, int], edges: Sequence[int]
) -> list[FrequencyBucket]:
    """Return the recall of reference words in each range of training frequencies.

    A word counts as found as often as it occurs in both the translation and the reference of a sentence.

    Args:
        translations: detokenised; ``references`` likewise.
        counts: how often words occur in training.
        edges: ascending positive bounds; (1, 6) makes the ranges 0, 1-5 and 6+.
    """
    words, found = Counter[int](), Counter[int]()
    for translation, reference in zip(translations, references, strict=True):
        wanted = Counter(words_of(reference))
        for word, both in (wanted & Counter(words_of(translation))).items():
            found[counts.get(word, 0)] += both
        for word, count in wanted.items():
            words[counts.get(word, 0)] += count
    buckets = []
    for bounds in value_ranges(edges):
        inside = [times for times in words if bounds.has(times)]
        total, right = (sum(counted[times] for times in inside) for counted in (words, found))
        buckets.append(
            FrequencyBucket(
                label=bounds.label,
                low=bounds.low,
                high=bounds.high,
                words=total,
                found=right,
                recall=right / total if total else None,
            )
        )
    return buckets
