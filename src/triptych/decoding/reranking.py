"""Choose among the hypotheses of a search by what other models make of them, whatever their tokenizers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from triptych.contract.model import AttentionMap
from triptych.data.directions import Direction
from triptych.decoding.beams import Hypothesis
from triptych.decoding.progress import Progress
from triptych.decoding.search import Search
from triptych.decoding.translator import Translator
from triptych.errors import UserError


class RerankingTranslator(Translator):
    """A translator whose hypotheses other ones help to rank.

    The search keeps as many hypotheses as its beam has. Each gets the mean of the log-probabilities that all
    translators give its text, divided by the length penalty of the search. ``score`` is that of the first translator
    alone: the mean over texts of different tokens is the likelihood of no model. Where the length limit ended a
    hypothesis, the others count ``</s>`` and the first does not.

    Args:
        first: that searches.
        others: that score what it finds.
    """

    def __init__(self, first: Translator, others: Sequence[Translator]) -> None:
        super().__init__(model=first.model, tokenizer=first.tokenizer, directions=first.directions, search=first.search)
        self.first, self.others = first, list(others)
        self.search_model = first.search_model

    def hypotheses_by_penalty(
        self,
        lines: Sequence[str],
        penalties: Sequence[float],
        search: Search | None = None,
        search_tokens: int = 4096,
        direction: Direction | None = None,
        progress: Progress | None = None,
    ) -> list[list[list[Hypothesis]]]:
        """Return what ``Translator.hypotheses_by_penalty`` returns, ranked by all translators.

        Raises:
            UserError: greedy search, which finds one hypothesis alone; or languages that one of the others lacks.
        """
        search = search or self.search
        if search.beam_size == 1:
            raise UserError("rerank: search.beam_size=1 finds one translation, so there is no choice; raise it.")
        whole = search.with_beam(search.beam_size, search.beam_size)
        found = self.first.hypotheses_by_penalty(lines, penalties, whole, search_tokens, direction, progress)
        return [
            self._ranked(lines, hypotheses, search.with_length_penalty(penalty), search_tokens, direction)
            for penalty, hypotheses in zip(penalties, found, strict=True)
        ]

    def _ranked(
        self,
        lines: Sequence[str],
        found: Sequence[Sequence[Hypothesis]],
        search: Search,
        search_tokens: int,
        direction: Direction | None,
    ) -> list[list[Hypothesis]]:
        """Return the best of each line's hypotheses, best first, by the scores of all translators."""
        sources = [line for line, hypotheses in zip(lines, found, strict=True) for _ in hypotheses]
        texts = [self.text_of(hypothesis) for hypotheses in found for hypothesis in hypotheses]
        direction = direction or self.directions.tested
        theirs = [other.score(sources, texts, search_tokens, direction) for other in self.others]
        totals = iter([sum(scores) for scores in zip(*theirs, strict=True)])
        ranked = []
        for hypotheses in found:
            scored = [self._rescored(hypothesis, next(totals), search) for hypothesis in hypotheses]
            ranked.append(sorted(scored, key=lambda one: one.score, reverse=True)[: search.n_best])
        return ranked

    def _rescored(self, hypothesis: Hypothesis, theirs: float, search: Search) -> Hypothesis:
        """Return a hypothesis with the mean of its own log-probability and the others', whose sum is ``theirs``."""
        mean = (hypothesis.log_probability + theirs) / (1 + len(self.others))
        length = len(hypothesis.tokens) + (not hypothesis.cut)  # </s> included
        return replace(hypothesis, log_probability=mean, score=search.score(mean, length))

    def token_scores(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], direction: Direction | None = None
    ) -> list[Tensor]:
        return self.first.token_scores(sources, targets, direction)

    def attention_of_ids(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], direction: Direction | None = None
    ) -> list[AttentionMap]:
        return self.first.attention_of_ids(sources, targets, direction)
