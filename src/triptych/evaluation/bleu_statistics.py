"""Sufficient statistics of corpus BLEU: counts of each sentence, whose sums give the BLEU of any set of sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from triptych.evaluation.checks import require_equal_counts

ORDERS = 4
"""Longest n-grams that BLEU counts."""


def bleu_from_signature(signature: str) -> BLEU:
    """Return sacreBLEU's metric with the tokenisation and the case of a signature, and defaults for all else.

    Raises:
        ValueError: sacreBLEU has no such tokenisation.
    """
    settings = dict(part.split(":", 1) for part in signature.split("|") if ":" in part)
    if settings.get("tok") not in BLEU.TOKENIZERS:
        raise ValueError(f"sacreBLEU has no tokenisation of the signature {signature}")
    return BLEU(tokenize=settings["tok"], lowercase=settings.get("case") == "lc")


def bleu_statistics(hypotheses: Sequence[str], references: Sequence[str], signature: str) -> np.ndarray:
    """Count what corpus BLEU needs of each sentence.

    Returns:
        (sentences, 2 + 2 * ``ORDERS``), in sacreBLEU's order: hypothesis length, reference length, matched n-grams of
        each order, n-grams of each order.

    Raises:
        ValueError: sacreBLEU has no tokenisation of that signature, the numbers of lines differ, or there are none.
    """
    require_equal_counts(hypotheses=hypotheses, references=references)
    metric = bleu_from_signature(signature)
    metric.effective_order = True  # changes no count; without it sacreBLEU warns about scores of single sentences
    found = [metric.sentence_score(ours, [theirs]) for ours, theirs in zip(hypotheses, references, strict=True)]
    return np.array([[score.sys_len, score.ref_len, *score.counts, *score.totals] for score in found], dtype=np.float64)


def corpus_bleu(sums: np.ndarray) -> np.ndarray:
    """Return the BLEU of corpora, given their summed ``bleu_statistics``: (…, 2 + 2 * ``ORDERS``) -> (…).

    As in sacreBLEU (smoothing ``exp``), the k-th n-gram order without a match counts as 2^-k matches.
    """
    length, reference_length = sums[..., 0], sums[..., 1]
    matches, totals = sums[..., 2 : 2 + ORDERS], sums[..., 2 + ORDERS :]
    smoothed = np.where(matches > 0, matches, 0.5 ** np.cumsum(matches == 0, axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        brevity = np.minimum(0, 1 - reference_length / length)
        scores = 100 * np.exp(np.log(smoothed / totals).mean(axis=-1) + brevity)
    return np.where((matches > 0).any(axis=-1) & (totals > 0).all(axis=-1), scores, 0.0)
