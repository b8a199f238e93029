"""Two variants of BLEU, reported under names of their own: BLEU by source length, and sentence BLEU over pieces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import TypedDict

from sacrebleu.metrics.bleu import BLEU

from triptych.evaluation.checks import require_equal_counts
from triptych.evaluation.metrics import Metric
from triptych.evaluation.value_ranges import value_ranges


class LengthBucket(TypedDict):
    """Corpus BLEU of the sentences whose source has ``low <= words < high``.

    ``high`` is None for the last bucket, and ``bleu`` is None for a bucket without sentences.
    """

    label: str
    low: int
    high: int | None
    sentences: int
    bleu: float | None


def bleu_by_length(
    bleu: Metric,
    hypotheses: Sequence[str],
    references: Sequence[str],
    sources: Sequence[str],
    edges: Sequence[int],
) -> list[LengthBucket]:
    """Return the corpus BLEU of each range of source lengths.

    Args:
        bleu: the metric.
        hypotheses: detokenised translations.
        references: one for each translation.
        sources: whose words are counted.
        edges: ascending positive bounds; (10, 20) makes the ranges 0-9, 10-19 and 20+.

    Raises:
        ValueError: the numbers of lines differ, there are none, or ``edges`` are not positive and ascending.
    """
    require_equal_counts(hypotheses=hypotheses, references=references, sources=sources)
    lengths = [len(line.split()) for line in sources]
    if any(low >= high for low, high in pairwise([0, *edges])):
        raise ValueError(f"edges={list(edges)} must be positive and ascend")
    buckets = []
    for bounds in value_ranges(edges):
        rows = [i for i, words in enumerate(lengths) if bounds.has(words)]
        lines = [hypotheses[i] for i in rows], [references[i] for i in rows], [""] * len(rows)
        buckets.append(
            LengthBucket(
                label=bounds.label,
                low=bounds.low,
                high=bounds.high,
                sentences=len(rows),
                bleu=bleu.score(*lines).score if rows else None,
            )
        )
    return buckets


def sentence_bleu_pieces(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    """Return the mean over sentences of smoothed BLEU over SentencePieces, 0 to 100. It is not corpus BLEU.

    It is the figure of A. Amster's articles (github.com/aamster/seq2seq-translation, ``train_evaluate.evaluate``). That
    code calls the ``bleu`` of Hugging Face's ``evaluate`` with ``smooth=True`` on the pieces of each sentence, which
    adds one to the matches and to the total of every order from 1 to 4. Lin and Och 2004, and sacreBLEU's ``add-k``,
    leave order 1 unsmoothed, so the formula is written out here. A sentence scores 0 if its hypothesis or its reference
    is empty.

    Raises:
        ValueError: the numbers of sentences differ, or there are none.
    """
    require_equal_counts(hypotheses=hypotheses, references=references)
    metric = BLEU(tokenize="none", smooth_method="none", effective_order=True)
    # sacreBLEU splits at whitespace, and a piece may be a whitespace character: replace each piece by a number.
    numbers = {piece: str(i) for i, piece in enumerate(dict.fromkeys(chain(*hypotheses, *references)))}
    total = 0.0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        if hypothesis and reference:
            ours, theirs = (" ".join(numbers[piece] for piece in pieces) for pieces in (hypothesis, reference))
            found = metric.sentence_score(ours, [theirs])
            precisions = [(match + 1) / (count + 1) for match, count in zip(found.counts, found.totals, strict=True)]
            total += min(1.0, math.exp(1 - found.ref_len / found.sys_len)) * math.prod(precisions) ** (1 / 4)
    return 100 * total / len(hypotheses)
