"""Scores of translations: corpus BLEU and chrF with their signatures, and two labelled variants of BLEU.

Every score runs from 0 to 100. Only ``corpus_scores`` may be compared with other people's figures, and only where the
signatures are equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import TypedDict

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF


class CorpusScores(TypedDict):
    """What ``corpus_scores`` returns."""

    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str


class LengthBucket(TypedDict):
    """Sentences with ``low <= words < high`` (``high`` None: no upper bound); BLEU is None where there are none."""

    label: str
    low: int
    high: int | None
    sentences: int
    bleu: float | None


def corpus_scores(hypotheses: Sequence[str], references: Sequence[str]) -> CorpusScores:
    """Corpus BLEU (13a tokenisation) and chrF of detokenised text, one reference a sentence (sacreBLEU, Post 2018).

    Raises:
        ValueError: the two differ in lines, or there are none.
    """
    _check_lines(hypotheses=hypotheses, references=references)
    bleu, chrf = BLEU(), CHRF()
    return CorpusScores(
        bleu=bleu.corpus_score(hypotheses, [references]).score,
        bleu_signature=bleu.get_signature().format(),
        chrf=chrf.corpus_score(hypotheses, [references]).score,
        chrf_signature=chrf.get_signature().format(),
    )


def bleu_of(signature: str) -> BLEU:
    """The corpus BLEU that a signature names: its tokenisation and its case; all else is as in ``corpus_scores``.

    Raises:
        ValueError: sacreBLEU has no such tokenisation.
    """
    named = dict(part.split(":", 1) for part in signature.split("|") if ":" in part)
    if named.get("tok") not in BLEU.TOKENIZERS:
        raise ValueError(f"sacreBLEU has no tokenisation of the signature {signature}")
    return BLEU(tokenize=named["tok"], lowercase=named.get("case") == "lc")


ORDERS = 4


def bleu_statistics(hypotheses: Sequence[str], references: Sequence[str], signature: str) -> np.ndarray:
    """What a corpus's BLEU is made of, sentence by sentence, (sentences, 2 + 2 · ``ORDERS``).

    In sacreBLEU's order: length of the hypothesis, of the reference, matches of each n-gram order, n-grams of each.

    Raises:
        ValueError: as ``bleu_of`` and ``corpus_scores``.
    """
    _check_lines(hypotheses=hypotheses, references=references)
    counter = bleu_of(signature)
    counter.effective_order = True  # no count depends on it, and sacreBLEU wants it where sentences are scored alone
    found = [counter.sentence_score(ours, [theirs]) for ours, theirs in zip(hypotheses, references, strict=True)]
    return np.array([[score.sys_len, score.ref_len, *score.counts, *score.totals] for score in found], dtype=np.float64)


def corpus_bleu(sums: np.ndarray) -> np.ndarray:
    """BLEU of corpora, given their summed ``bleu_statistics``: (…, 2 + 2 · ``ORDERS``) -> (…).

    As in sacreBLEU, the k-th order that nothing matches counts 2^-k matches (the smoothing ``exp``).
    """
    length, reference_length = sums[..., 0], sums[..., 1]
    matches, totals = sums[..., 2 : 2 + ORDERS], sums[..., 2 + ORDERS :]
    smoothed = np.where(matches > 0, matches, 0.5 ** np.cumsum(matches == 0, axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        brevity = np.minimum(0, 1 - reference_length / length)
        scores = 100 * np.exp(np.log(smoothed / totals).mean(axis=-1) + brevity)
    return np.where((matches > 0).any(axis=-1) & (totals > 0).all(axis=-1), scores, 0.0)


def sentence_bleu_pieces(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    """Mean over sentences of smoothed BLEU over SentencePieces: the figure of A. Amster's articles, not corpus BLEU.

    Their code (github.com/aamster/seq2seq-translation, ``train_evaluate.evaluate``) calls the ``bleu`` of Hugging
    Face's ``evaluate`` with ``smooth=True`` on each sentence's pieces: one is added to the matches and to the total of
    every order from 1 to 4 (Lin and Och 2004 leave order 1 as it is, and so does sacreBLEU's ``add-k``; hence the
    formula here). A sentence whose hypothesis or reference is empty scores 0.

    Raises:
        ValueError: the two differ in sentences, or there are none.
    """
    _check_lines(hypotheses=hypotheses, references=references)
    counter = BLEU(tokenize="none", smooth_method="none", effective_order=True)
    # A piece may be a kind of space, which sacreBLEU would take for a boundary: each goes by a number.
    names = {piece: str(i) for i, piece in enumerate(dict.fromkeys(chain(*hypotheses, *references)))}
    total = 0.0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        if hypothesis and reference:
            ours, theirs = (" ".join(names[piece] for piece in pieces) for pieces in (hypothesis, reference))
            found = counter.sentence_score(ours, [theirs])
            precisions = [(match + 1) / (count + 1) for match, count in zip(found.counts, found.totals, strict=True)]
            total += min(1.0, math.exp(1 - found.ref_len / found.sys_len)) * math.prod(precisions) ** (1 / 4)
    return 100 * total / len(hypotheses)


def bleu_by_length(
    hypotheses: Sequence[str], references: Sequence[str], source_lengths: Sequence[int], edges: Sequence[int]
) -> list[LengthBucket]:
    """Corpus BLEU of the sentences of each range of source lengths.

    Args:
        hypotheses: detokenised translations.
        references: as many references.
        source_lengths: words of each source sentence.
        edges: ascending positive bounds; (10, 20) makes the ranges 0-9, 10-19 and 20+.

    Raises:
        ValueError: the three differ in lines, there are none, or ``edges`` does not ascend from above 0.
    """
    _check_lines(hypotheses=hypotheses, references=references, source_lengths=source_lengths)
    bounds = [0, *edges]
    if any(low >= high for low, high in pairwise(bounds)):
        raise ValueError(f"edges={list(edges)} must be positive and ascend")
    buckets = []
    for low, high in [*pairwise(bounds), (bounds[-1], None)]:
        rows = [i for i, words in enumerate(source_lengths) if low <= words and (high is None or words < high)]
        scored = BLEU().corpus_score([hypotheses[i] for i in rows], [[references[i] for i in rows]]) if rows else None
        buckets.append(
            LengthBucket(
                label=f"{low}+" if high is None else f"{low}-{high - 1}",
                low=low,
                high=high,
                sentences=len(rows),
                bleu=None if scored is None else scored.score,
            )
        )
    return buckets


def _check_lines(**columns: Sequence[object]) -> None:
    counts = {name: len(column) for name, column in columns.items()}
    if len(set(counts.values())) > 1 or 0 in counts.values():
        listed = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise ValueError(f"Scores need equally many lines, at least one, but there are {listed}")
