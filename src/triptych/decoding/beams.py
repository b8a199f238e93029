"""Hypotheses of beam search: the finished ones that are returned, and the live ones that are still extended."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from triptych.contract.vocabulary import EOS, PAD


@dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence.

    Attributes:
        tokens: target ids without ``<s>`` (or the language tag in its place) and without ``</s>``.
        score: log-probability divided by the length penalty; hypotheses are ranked by it, higher is better.
        log_probability: natural logarithm of the probability of the generated tokens, including ``</s>`` if the model
            generated it.
        cut: whether the length limit ended it, and not ``</s>``.
    """

    tokens: list[int]
    score: float
    log_probability: float
    cut: bool


@dataclass
class Beams:
    """Hypotheses of the sentences of a batch that are still searched.

    A sentences, W live hypotheses a sentence (1 before the first step), P length penalties, N finished hypotheses kept
    for each sentence and penalty, n tokens generated so far.

    Attributes:
        sentence: (A,) row of each sentence in the batch.
        limit: (A,) maximum number of generated tokens, including ``</s>``.
        tokens: (A, W, 1 + n) live hypotheses, the most probable first; each starts with ``<s>`` or a language tag.
        log_probs: (A, W) log-probabilities of the live hypotheses.
        best_tokens: (A, P, N, 1 + n) the best finished hypotheses, best first, padded with ``<pad>``.
        best_scores: (A, P, N) their scores; -inf where fewer than N have finished.
        best_log_probs: (A, P, N) their log-probabilities.
        num_finished: (A,) number of hypotheses that have finished, kept or not.
        is_finished: (A,) whether the search of the sentence is over. It may then stay in the batch for some steps, in
            which its finished hypotheses do not change.
    """

    sentence: Tensor
    limit: Tensor
    tokens: Tensor
    log_probs: Tensor
    best_tokens: Tensor
    best_scores: Tensor
    best_log_probs: Tensor
    num_finished: Tensor
    is_finished: Tensor

    @classmethod
    def initial(cls, first_tokens: Tensor, limit: Tensor, num_penalties: int, n_best: int) -> Beams:
        """Return one empty live hypothesis a sentence, and no finished ones.

        Args:
            first_tokens: (B,) token that each translation starts with; it is not part of the translation.
            limit: (B,) maximum number of generated tokens.
            num_penalties: P.
            n_best: N.
        """
        num_sentences, device = len(first_tokens), first_tokens.device
        no_scores = torch.full((num_sentences, num_penalties, n_best), -math.inf, device=device)
        return cls(
            sentence=torch.arange(num_sentences, device=device),
            limit=limit,
            tokens=first_tokens.view(num_sentences, 1, 1),
            log_probs=torch.zeros(num_sentences, 1, device=device),
            best_tokens=torch.full((num_sentences, num_penalties, n_best, 1), PAD, device=device),
            best_scores=no_scores,
            best_log_probs=no_scores,
            num_finished=torch.zeros(num_sentences, dtype=torch.long, device=device),
            is_finished=torch.zeros(num_sentences, dtype=torch.bool, device=device),
        )

    def select(self, sentences: Tensor) -> Beams:
        """Return the beams of some sentences, given their positions (A',) along the first dimension."""
        return Beams(**{name: tensor.index_select(0, sentences) for name, tensor in vars(self).items()})

    def hypotheses(self) -> list[list[list[Hypothesis]]]:
        """Return the finished hypotheses of each sentence, for each penalty, best first."""
        best = zip(self.best_tokens.tolist(), self.best_scores.tolist(), self.best_log_probs.tolist(), strict=True)
        return [[_hypotheses(*found) for found in zip(*sentence, strict=True)] for sentence in best]


def _hypotheses(tokens: list[list[int]], scores: list[float], log_probs: list[float]) -> list[Hypothesis]:
    """Return the finished hypotheses among N rows of ``Beams``."""
    return [
        Hypothesis(
            tokens=[token for token in row[1:] if token not in (PAD, EOS)],
            score=score,
            log_probability=log_prob,
            cut=EOS not in row[1:],
        )
        for row, score, log_prob in zip(tokens, scores, log_probs, strict=True)
        if score > -math.inf
    ]
