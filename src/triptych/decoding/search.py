"""Greedy and beam search: one implementation for every architecture, over ``start``, ``step`` and ``DecoderState``.

B sentences in the batch, A of them still searched, K the beam size, W live hypotheses a sentence (1 before the first
step, K as soon as there are as many), C candidates a step, N the n-best kept, V pieces, n tokens generated so far.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from triptych.contract.model import TranslationModel
from triptych.contract.vocabulary import BOS, EOS, PAD, LanguageTags
from triptych.data.batching import plan_sorted
from triptych.errors import UserError


@dataclass(frozen=True)
class Hypothesis:
    """One translation.

    Attributes:
        tokens: target ids without ``<s>`` (or the tag in its place) and ``</s>``.
        score: log-probability over the length penalty, by which hypotheses are ranked; higher is better.
        log_probability: sum over the generated tokens, ``</s>`` counted where the model produced it.
    """

    tokens: list[int]
    score: float
    log_probability: float


@dataclass
class Beams:
    """Where the search of a batch stands.

    Attributes:
        sentence: (A,) row of each sentence in the batch.
        limit: (A,) most tokens that its output may have, ``</s>`` counted.
        tokens: (A, W, 1 + n) live hypotheses, the likeliest first, ``<s>`` or a tag in front.
        log_probs: (A, W) their log-probabilities.
        best_tokens: (A, N, 1 + n) the best finished hypotheses, the best first, padded with ``<pad>``.
        best_scores: (A, N) their scores, -inf where none has finished yet.
        best_log_probs: (A, N) their log-probabilities.
    """

    sentence: Tensor
    limit: Tensor
    tokens: Tensor
    log_probs: Tensor
    best_tokens: Tensor
    best_scores: Tensor
    best_log_probs: Tensor

    def select(self, sentences: Tensor) -> Beams:
        return Beams(**{name: tensor.index_select(0, sentences) for name, tensor in vars(self).items()})

    def hypotheses(self) -> list[list[Hypothesis]]:
        """The finished hypotheses of each sentence, best first."""
        rows = zip(self.best_tokens.tolist(), self.best_scores.tolist(), self.best_log_probs.tolist(), strict=True)
        return [
            [
                Hypothesis([token for token in tokens[1:] if token not in (PAD, EOS)], score, log_prob)
                for tokens, score, log_prob in zip(*row, strict=True)
                if score > -math.inf
            ]
            for row in rows
        ]


class Search:
    """Beam search with the length penalty of Wu et al. 2016 (equation 14), ((5 + n) / 6) ^ alpha.

    A hypothesis finishes when ``</s>`` is among the K best continuations of its sentence, and the K best others stay
    live. A sentence leaves the batch as soon as no live hypothesis can score above the worst that is kept, so that
    nothing is lost by stopping: with a beam wide enough the result is that of exhaustive search. A hypothesis that
    reaches the length limit is finished as it is. A beam of one is greedy search and ends at its first ``</s>``.
    ``<pad>`` and ``<s>`` are never generated. Equal candidates go by beam, then by id (as far as
    ``topk`` finds them: which of several equal ones at the end of its list it takes is its own choice).

    Args:
        beam_size: K, live hypotheses a sentence.
        length_penalty: alpha; 0 ranks by plain log-probability.
        max_length_ratio: an output has at most ``ratio * source + extra`` tokens, ``</s>`` counted on both sides.
        max_length_extra: see ``max_length_ratio``.
        n_best: N, hypotheses returned for a sentence, at most K.

    Raises:
        UserError: a setting is outside what it allows.
    """

    def __init__(
        self, *, beam_size: int, length_penalty: float, max_length_ratio: float, max_length_extra: int, n_best: int
    ) -> None:
        _require("beam_size", beam_size, isinstance(beam_size, int) and beam_size >= 1, "an integer of at least 1")
        _require("length_penalty", length_penalty, _finite_from_zero(length_penalty), "a number of at least 0")
        _require("max_length_ratio", max_length_ratio, _finite_from_zero(max_length_ratio), "a number of at least 0")
        extra_fits = isinstance(max_length_extra, int) and max_length_extra >= 1
        _require("max_length_extra", max_length_extra, extra_fits, "an integer of at least 1")
        n_best_fits = isinstance(n_best, int) and 1 <= n_best <= beam_size
        _require("n_best", n_best, n_best_fits, f"an integer from 1 to search.beam_size={beam_size}")
        self.beam_size = beam_size
        self.length_penalty = length_penalty
        self.max_length_ratio = max_length_ratio
        self.max_length_extra = max_length_extra
        self.n_best = n_best

    @torch.inference_mode()
    def __call__(
        self, model: TranslationModel, src: Tensor, src_lengths: Tensor, starts: Tensor | None = None
    ) -> list[list[Hypothesis]]:
        """Translates a batch.

        Args:
            model: on the device of ``src``; put in evaluation mode meanwhile.
            src: (B, S) source ids, each row ends in ``</s>``.
            src_lengths: (B,) tokens of each row, ``</s>`` counted.
            starts: (B,) what each translation begins with, ``<s>`` for None.

        Returns:
            For each sentence, its at most N best hypotheses, best first.

        Raises:
            UserError: the model's logits are not numbers.
        """
        results: list[list[Hypothesis]] = [[] for _ in range(len(src))]
        with _evaluating(model):
            beams, state = self._begin(src_lengths, starts), model.start(src, src_lengths)
            while len(beams.sentence):
                logits, state = model.step(beams.tokens[:, :, -1].flatten(), state)
                beams, rows = self._extend(beams, logits)
                done = self._done(beams)
                live = (~done).nonzero()[:, 0]
                if len(live) < len(done):
                    settled = beams.select(done.nonzero()[:, 0])
                    for sentence, hypotheses in zip(settled.sentence.tolist(), settled.hypotheses(), strict=True):
                        results[sentence] = hypotheses
                    beams, rows, state = beams.select(live), rows.index_select(0, live), state.select_sentences(live)
                state = state.select_hypotheses(rows.flatten())
        if not all(results):
            raise UserError("the model's logits are not finite: training has diverged; lower the learning rate.")
        return results

    def _begin(self, src_lengths: Tensor, starts: Tensor | None) -> Beams:
        count, device = len(src_lengths), src_lengths.device
        starts = torch.full_like(src_lengths, BOS) if starts is None else starts
        unfinished = torch.full((count, self.n_best), -math.inf, device=device)
        return Beams(
            sentence=torch.arange(count, device=device),
            limit=self.limit(src_lengths),
            tokens=starts.view(count, 1, 1),
            log_probs=torch.zeros(count, 1, device=device),
            best_tokens=torch.full((count, self.n_best, 1), PAD, device=device),
            best_scores=unfinished,
            best_log_probs=unfinished,
        )

    def _extend(self, beams: Beams, logits: Tensor) -> tuple[Beams, Tensor]:
        """One more token: from logits (A * W, V) to new beams, and the state's row (A, W') that each one continues."""
        count, width, length = beams.tokens.shape
        candidates, origin, token = self._candidates(beams.log_probs, logits)  # each (A, C)
        tokens = beams.tokens.gather(1, origin[:, :, None].expand(-1, -1, length))  # (A, C, n)
        tokens = torch.cat([tokens, token[:, :, None]], dim=2)  # (A, C, n + 1)

        is_end = token == EOS
        in_beam = torch.arange(candidates.shape[1], device=token.device) < self.beam_size
        at_limit = (beams.limit == length)[:, None]
        finished = candidates.masked_fill(~((is_end | at_limit) & in_beam), -math.inf)
        scores = torch.cat([beams.best_scores, finished / self._penalty(length)], dim=1)
        scores, best = scores.sort(dim=1, descending=True, stable=True)
        scores, best = scores[:, : self.n_best], best[:, : self.n_best]
        pool = torch.cat([nn.functional.pad(beams.best_tokens, (0, 1), value=PAD), tokens], dim=1)
        pool_log_probs = torch.cat([beams.best_log_probs, finished], dim=1)

        # At most one </s> a live hypothesis, so that this many others always remain among the candidates.
        others = min(self.beam_size, candidates.shape[1] - width)
        live = is_end.int().argsort(dim=1, stable=True)[:, :others]  # (A, W')
        extended = Beams(
            sentence=beams.sentence,
            limit=beams.limit,
            tokens=tokens.gather(1, live[:, :, None].expand(-1, -1, length + 1)),
            log_probs=candidates.gather(1, live),
            best_tokens=pool.gather(1, best[:, :, None].expand(-1, -1, length + 1)),
            best_scores=scores,
            best_log_probs=pool_log_probs.gather(1, best),
        )
        return extended, width * torch.arange(count, device=token.device)[:, None] + origin.gather(1, live)

    def _candidates(self, log_probs: Tensor, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The 2K likeliest continuations of each sentence, best first.

        Twice the beam, so that K remain when every hypothesis of the beam ends in ``</s>``.

        Args:
            log_probs: (A, W) of the live hypotheses.
            logits: (A * W, V).

        Returns:
            Log-probability, hypothesis continued and token added, each (A, C).
        """
        (count, width), vocabulary = log_probs.shape, logits.shape[1]
        values, ids = logits.topk(min(2 * self.beam_size + 2, vocabulary), dim=1)  # each (A * W, M), in any order
        ids, order = ids.sort(dim=1)
        values = values.gather(1, order).float() - logits.float().logsumexp(dim=1, keepdim=True)
        values = values.masked_fill((ids == PAD) | (ids == BOS), -math.inf)
        totals = (log_probs[:, :, None] + values.view(count, width, -1)).flatten(1)  # by beam, then by id
        totals, places = totals.sort(dim=1, descending=True, stable=True)
        # No more candidates than there are allowed tokens, so that the two forbidden ones never fill a place.
        few = min(2 * self.beam_size, width * (vocabulary - 2))
        totals, places = totals[:, :few], places[:, :few]
        return totals, places // values.shape[1], ids.view(count, -1).gather(1, places)

    def _done(self, beams: Beams) -> Tensor:
        """(A,) whether a sentence is settled.

        Log-probabilities only fall, and the penalty of the greatest length divides them by most: a live hypothesis can
        never score above its log-probability of today over that penalty.
        """
        bound = beams.log_probs[:, 0] / self._penalty(beams.limit)
        worst_kept = beams.best_scores[:, -1]
        done = (bound <= worst_kept) | (beams.limit == beams.tokens.shape[2] - 1)
        return done | (worst_kept > -math.inf) if self.beam_size == 1 else done

    def limit(self, src_lengths: Tensor) -> Tensor:
        """Most tokens, ``</s>`` counted, of the outputs for sources of these lengths, ``</s>`` counted."""
        return (src_lengths * self.max_length_ratio).long() + self.max_length_extra

    def _penalty(self, length: Tensor | int) -> Tensor | float:
        """((5 + n) / 6) ^ alpha of n tokens, ``</s>`` counted (Wu et al. 2016, equation 14)."""
        return ((5.0 + length) / 6.0) ** float(self.length_penalty)


def decode(
    model: TranslationModel,
    sources: Sequence[Sequence[int]],
    search: Search,
    search_tokens: int,
    device: torch.device | str,
    tags: Sequence[LanguageTags] | None = None,
) -> list[list[Hypothesis]]:
    """Translates a corpus, in batches of similar length, the longest first.

    Args:
        model: on ``device``.
        sources: bare source ids of each sentence, no special ids; a sentence may be empty.
        search: how to search.
        search_tokens: padded source tokens a batch, at most, or as many as the longest sentence has.
        device: where the batches go.
        tags: what each source ends in and its translation begins with, ``</s>`` and ``<s>`` for None.

    Returns:
        For each source, in the order given, its hypotheses, best first.

    Raises:
        UserError: ``search_tokens`` is less than 1.
    """
    if search_tokens < 1:
        raise UserError(f"search_tokens={search_tokens} is not allowed: give an integer of at least 1.")
    tags = [LanguageTags()] * len(sources) if tags is None else tags
    results: list[list[Hypothesis]] = [[] for _ in sources]
    lengths = np.array([[len(ids) + 1] for ids in sources], dtype=np.int64).reshape(-1, 1)
    for indices in plan_sorted(lengths, max(search_tokens, lengths.max(initial=0))):
        rows = [torch.tensor([*sources[i], tags[i].src_end]) for i in indices]
        starts = torch.tensor([tags[i].tgt_begin for i in indices], device=device)
        src = pad_sequence(rows, batch_first=True, padding_value=PAD).to(device)
        src_lengths = torch.tensor([len(row) for row in rows], device=device)
        for i, hypotheses in zip(indices, search(model, src, src_lengths, starts), strict=True):
            results[i] = hypotheses
    return results


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode; afterwards every module is in the mode that it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def _require(key: str, value: object, fits: bool, allowed: str) -> None:
    if not fits:
        raise UserError(f"search.{key}={value} is not allowed: give {allowed}.")


def _finite_from_zero(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value >= 0
