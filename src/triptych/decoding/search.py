"""Greedy and beam search: one implementation for every architecture, over ``start``, ``step`` and ``DecoderState``.

B sentences in the batch, A of them still searched, K the beam size, W live hypotheses a sentence (1 before the first
step, then up to K), C candidates a sentence and step, P length penalties, N the number of hypotheses returned, V target
vocabulary size, n tokens generated so far.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn

from triptych.contract.searchable import SearchableModel
from triptych.contract.vocabulary import BOS, EOS, PAD
from triptych.decoding.beams import Beams, Hypothesis
from triptych.decoding.choices import EXACT, FIRST, TUNED
from triptych.errors import UserError
from triptych.kernels.packed_linear import constant_weights
from triptych.kernels.topk import topk
from triptych.ranges import LARGEST_BEAM, Beam, Factor, Length

Candidates = tuple[Tensor, Tensor, Tensor]
"""Log-probability, index of the hypothesis continued, and token added, of each candidate of a step: (A, C) each."""
OnStep = Callable[[Beams, Candidates, Beams], None]
MIN_SHARE_LEAVING = 1 / 8
"""Finished sentences leave the batch once they are this share of it: leaving copies the states of the others."""


class Search:
    """Beam search with the length penalty of Wu et al. 2016 (equation 14), ((5 + n) / 6) ^ alpha.

    A hypothesis finishes when its continuation with ``</s>`` is among the K best candidates of its sentence; the K best
    other candidates stay live. A sentence is finished as soon as no live hypothesis can reach the score of the worst
    hypothesis kept. Stopping so loses nothing (``stop="exact"``): with a wide enough beam the result equals exhaustive
    search. With ``stop="first"``, a sentence is finished at the latest when K of its hypotheses are, as in fairseq (Ott
    et al. 2019); a better one may then remain unfound. A hypothesis that reaches the length limit counts as finished.
    A beam of one is greedy search and stops at its first ``</s>``. ``<pad>`` and ``<s>`` are never generated. Ties
    between candidates are broken by beam, then by token id, among the candidates found (of several
    equal log-probabilities, it is not specified which is found last).

    Args:
        beam_size: K, live hypotheses a sentence.
        length_penalty: alpha; 0 ranks by log-probability alone. ``tuned`` is a value still to be chosen: such a search
            does not run, but ``with_length_penalty`` makes one of it that does.
        max_length_ratio: an output has at most ``max_length_ratio * source length + max_length_extra`` tokens, both
            lengths including ``</s>``.
        max_length_extra: see ``max_length_ratio``.
        min_length: no output has fewer tokens, ``</s>`` not counted: until then ``</s>`` is no candidate. At most
            ``max_length_ratio + max_length_extra``, which outputs of any source may have.
        stop: when the search of a sentence ends, ``exact`` or ``first``.
        n_best: N, hypotheses returned a sentence, at most K.

    Raises:
        UserError: a value outside its allowed range.
    """

    def __init__(
        self,
        *,
        beam_size: Beam,
        length_penalty: Factor | str,
        max_length_ratio: Factor,
        max_length_extra: Length,
        min_length: Length,
        stop: str,
        n_best: Beam,
    ) -> None:
        _require_beam(beam_size, n_best)
        valid_penalty = length_penalty == TUNED or _is_non_negative(length_penalty)
        _require("length_penalty", length_penalty, valid_penalty, f"a number of at least 0, or {TUNED}")
        _require("max_length_ratio", max_length_ratio, _is_non_negative(max_length_ratio), "a number of at least 0")
        valid_extra = isinstance(max_length_extra, int) and max_length_extra >= 1
        _require("max_length_extra", max_length_extra, valid_extra, "an integer of at least 1")
        valid_minimum = isinstance(min_length, int) and min_length >= 0
        _require("min_length", min_length, valid_minimum, "an integer of at least 0")
        longest = math.floor(max_length_ratio) + max_length_extra  # of an empty source, which has its </s>
        fits = f"at most {longest}, which the shortest sources allow, or raise search.max_length_extra"
        _require("min_length", min_length, min_length <= longest, fits)
        _require("stop", stop, stop in (EXACT, FIRST), f"{EXACT} or {FIRST}")
        self.beam_size = beam_size
        self.length_penalty = length_penalty
        self.max_length_ratio = max_length_ratio
        self.max_length_extra = max_length_extra
        self.min_length = min_length
        self.stop = stop
        self.n_best = n_best

    @property
    def is_tuned(self) -> bool:
        """Whether the length penalty is still to be chosen on the validation set."""
        return self.length_penalty == TUNED

    def with_length_penalty(self, length_penalty: float) -> Search:
        """Return the same search with another length penalty.

        Raises:
            UserError: it is negative or no number.
        """
        _require("length_penalty", length_penalty, _is_non_negative(length_penalty), "a number of at least 0")
        other = copy.copy(self)
        other.length_penalty = length_penalty
        return other

    def with_beam(self, beam_size: int, n_best: int) -> Search:
        """Return the same search with another beam, and with so many hypotheses returned.

        Raises:
            UserError: a value outside its allowed range.
        """
        _require_beam(beam_size, n_best)
        other = copy.copy(self)
        other.beam_size, other.n_best = beam_size, n_best
        return other

    @property
    def chosen_penalty(self) -> float:
        """The length penalty.

        Raises:
            UserError: it is still to be tuned.
        """
        if self.is_tuned:
            raise UserError(
                f"search.length_penalty={TUNED} has no number here, because only train and evaluate choose one; leave "
                "the key out for the one that the run has chosen, or give a number."
            )
        return float(self.length_penalty)

    def __call__(
        self,
        model: SearchableModel,
        src: Tensor,
        src_lengths: Tensor,
        starts: Tensor | None = None,
        on_step: OnStep | None = None,
    ) -> list[list[Hypothesis]]:
        """Translate a batch.

        Args:
            model: on the device of ``src``; switched to evaluation mode during the search.
            src: (B, S) source ids; each row ends in ``</s>`` or its language tag, then padding.
            src_lengths: (B,) tokens of each row, including the last one.
            starts: (B,) token that each translation starts with; None for ``<s>``.
            on_step: called at each step with the beams before it, its candidates, and the beams after it.

        Returns:
            For each sentence, its at most N best hypotheses, best first.

        Raises:
            UserError: a length penalty that is still to be tuned; or the model's logits are not finite.
        """
        found = self.by_penalty([self.chosen_penalty], model, src, src_lengths, starts, on_step)
        return [hypotheses for (hypotheses,) in found]

    @torch.inference_mode()
    def by_penalty(
        self,
        penalties: Sequence[float],
        model: SearchableModel,
        src: Tensor,
        src_lengths: Tensor,
        starts: Tensor | None = None,
        on_step: OnStep | None = None,
    ) -> list[list[list[Hypothesis]]]:
        """Translate a batch with each of several length penalties, in one search.

        A penalty changes which finished hypothesis is the best, and when no live one can become better; it does not
        change which hypotheses live. So the search goes on until it is over with every penalty.

        Args:
            penalties: alpha of each, in place of ``length_penalty``.

        The others are those of ``__call__``, and so is what is raised.

        Returns:
            For each sentence and penalty, what ``__call__`` returns.
        """
        starts = torch.full_like(src_lengths, BOS) if starts is None else starts
        limit, alpha = self.limit(src_lengths), torch.tensor(penalties, dtype=torch.float32, device=src.device)
        beams = Beams.initial(starts, limit, len(penalties), self.n_best)
        results: list[list[list[Hypothesis]]] = [[] for _ in range(len(src))]
        longest, every = int(limit.max()), steps_between_syncs(src.device)
        with evaluation_mode(model), constant_weights():
            state = model.start(src, src_lengths)
            for step in range(1, longest + 1):
                logits, state = model.step(beams.tokens[:, :, -1].flatten(), state)
                candidates = self._candidates(beams, model.log_probs(logits))
                extended, rows = self._extend(beams, alpha, *candidates)
                if on_step:
                    on_step(beams, candidates, extended)
                beams = replace(extended, is_finished=beams.is_finished | self._finished(extended, alpha))
                if step % every == 0 or step == longest:
                    live = (~beams.is_finished).nonzero()[:, 0]
                    if len(live) <= (1 - MIN_SHARE_LEAVING) * len(beams.sentence):
                        done = beams.select(beams.is_finished.nonzero()[:, 0])
                        for sentence, hypotheses in zip(done.sentence.tolist(), done.hypotheses(), strict=True):
                            results[sentence] = hypotheses
                        beams, rows = beams.select(live), rows.index_select(0, live)
                        state = state.select_sentences(live)
                    if not len(live):
                        break
                state = state.select_hypotheses(rows.flatten())
        if not all(by_penalty and all(by_penalty) for by_penalty in results):
            raise UserError("the model's logits are not finite: training has diverged; lower the learning rate.")
        return results

    def limit(self, src_lengths: Tensor) -> Tensor:
        """Return the maximum output length of sources of these lengths, all lengths including ``</s>``."""
        return (src_lengths * self.max_length_ratio).long() + self.max_length_extra

    def _extend(
        self, beams: Beams, alpha: Tensor, candidates: Tensor, parent: Tensor, token: Tensor
    ) -> tuple[Beams, Tensor]:
        """Extend every live hypothesis by one token.

        Args:
            beams: the beams before this step.
            alpha: (P,) length penalties.
            candidates: (A, C) their log-probabilities; ``parent`` and ``token`` likewise as in ``Candidates``.

        Returns:
            The new beams, with W' live hypotheses a sentence, and (A, W') the row of the decoder state that each of
            these continues.
        """
        num_sentences, width, length = beams.tokens.shape
        tokens = beams.tokens.gather(1, parent[:, :, None].expand(-1, -1, length))  # (A, C, n)
        tokens = torch.cat([tokens, token[:, :, None]], dim=2)  # (A, C, n + 1)

        is_end = token == EOS
        in_beam = torch.arange(candidates.shape[1], device=token.device) < self.beam_size
        at_limit = (beams.limit == length)[:, None]
        ends = (is_end | at_limit) & in_beam & (candidates > -math.inf) & ~beams.is_finished[:, None]
        finished = candidates.masked_fill(~ends, -math.inf)[:, None].expand(-1, len(alpha), -1)  # (A, P, C)
        scores = torch.cat([beams.best_scores, finished / penalty(length, alpha)[:, None]], dim=2)
        scores, best = scores.sort(dim=2, descending=True, stable=True)
        scores, best = scores[..., : self.n_best], best[..., : self.n_best]
        new_tokens = tokens[:, None].expand(-1, len(alpha), -1, -1)
        pool = torch.cat([nn.functional.pad(beams.best_tokens, (0, 1), value=PAD), new_tokens], dim=2)
        pool_log_probs = torch.cat([beams.best_log_probs, finished], dim=2)

        # Each live hypothesis has at most one continuation with </s>, so at least this many candidates have another.
        new_width = min(self.beam_size, candidates.shape[1] - width)
        live = is_end.int().argsort(dim=1, stable=True)[:, :new_width]  # (A, W')
        extended = Beams(
            sentence=beams.sentence,
            limit=beams.limit,
            tokens=tokens.gather(1, live[:, :, None].expand(-1, -1, length + 1)),
            log_probs=candidates.gather(1, live),
            best_tokens=pool.gather(2, best[..., None].expand(-1, -1, -1, length + 1)),
            best_scores=scores,
            best_log_probs=pool_log_probs.gather(2, best),
            num_finished=beams.num_finished + ends.sum(dim=1),
            is_finished=beams.is_finished,
        )
        first_row = width * torch.arange(num_sentences, device=token.device)[:, None]
        return extended, first_row + parent.gather(1, live)

    def _candidates(self, beams: Beams, log_probs: Tensor) -> Candidates:
        """Return the 2K most probable continuations of each sentence, best first.

        Twice the beam size, so that K remain if every live hypothesis has ``</s>`` among its continuations.

        Args:
            beams: the beams before this step, with W live hypotheses a sentence.
            log_probs: (A * W, V) of the next token.
        """
        (num_sentences, width, length), vocab_size = beams.tokens.shape, log_probs.shape[1]
        values, ids = topk(log_probs, min(2 * self.beam_size + 2, vocab_size))  # each (A * W, M), in any order
        ids, order = ids.sort(dim=1)
        values = values.gather(1, order).masked_fill((ids == PAD) | (ids == BOS), -math.inf)
        if length <= self.min_length:  # length - 1 tokens have been generated
            values = values.masked_fill(ids == EOS, -math.inf)
        totals = (beams.log_probs[:, :, None] + values.view(num_sentences, width, -1)).flatten(1)  # by beam, then by id
        totals, flat = totals.sort(dim=1, descending=True, stable=True)
        # At most as many candidates as there are allowed tokens, so that <pad> and <s> never become candidates.
        num_candidates = min(2 * self.beam_size, width * (vocab_size - 2))
        totals, flat = totals[:, :num_candidates], flat[:, :num_candidates]
        return totals, flat // values.shape[1], ids.view(num_sentences, -1).gather(1, flat)

    def _finished(self, beams: Beams, alpha: Tensor) -> Tensor:
        """Return (A,) whether the search of a sentence is over, with every one of P length penalties.

        Log-probabilities only fall, and the penalty is largest at the length limit. So no continuation of a live
        hypothesis can score above its log-probability divided by the penalty at the limit. Once that is known, going on
        changes nothing, whatever ``stop`` says.
        """
        bound = beams.log_probs[:, :1] / penalty(beams.limit[:, None], alpha)
        worst_kept = beams.best_scores[..., -1]
        finished = (bound <= worst_kept).all(dim=1) | (beams.limit == beams.tokens.shape[2] - 1)
        if self.stop == FIRST:
            finished |= beams.num_finished >= self.beam_size
        return finished | (worst_kept > -math.inf).all(dim=1) if self.beam_size == 1 else finished

    def score(self, log_probability: float, length: int) -> float:
        """Return the score of an output of this length, including ``</s>`` if the model has generated it."""
        return log_probability / float(penalty(length, torch.tensor(self.chosen_penalty)))


def penalty(length: Tensor | int, alpha: Tensor) -> Tensor:
    """Return the length penalty of outputs of this length, including ``</s>`` (Wu et al. 2016, equation 14)."""
    return ((5.0 + length) / 6.0) ** alpha


def steps_between_syncs(device: torch.device) -> int:
    """Return how many steps a search takes before it looks which sentences are finished, and may drop those.

    Looking synchronises with a GPU. On a CPU it is free.
    """
    return 1 if device.type == "cpu" else 8


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Switch a model to evaluation mode, and afterwards each of its modules back to its own mode."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def _require_beam(beam_size: int, n_best: int) -> None:
    valid_size = isinstance(beam_size, int) and 1 <= beam_size <= LARGEST_BEAM
    _require("beam_size", beam_size, valid_size, f"an integer from 1 to {LARGEST_BEAM:,}")
    valid_n_best = isinstance(n_best, int) and 1 <= n_best <= beam_size
    _require("n_best", n_best, valid_n_best, f"an integer from 1 to search.beam_size={beam_size}")


def _require(key: str, value: object, valid: bool, allowed: str) -> None:
    if not valid:
        raise UserError(f"search.{key}={value} is not allowed: give {allowed}.")


def _is_non_negative(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value >= 0
