"""A trained model that translates and scores text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from triptych.contract.batch import Batch
from triptych.contract.model import AttentionMap, TranslationModel
from triptych.contract.searchable import SearchableModel
from triptych.contract.vocabulary import LanguageTags
from triptych.data.directions import Direction, Directions
from triptych.data.epoch_plan import plan_sorted
from triptych.data.tokenizer import Tokenizer
from triptych.decoding.batches import LONGEST, decode, require_search_tokens
from triptych.decoding.beams import Hypothesis
from triptych.decoding.lines import as_list, without_line_breaks
from triptych.decoding.progress import Progress
from triptych.decoding.search import Search, evaluation_mode
from triptych.decoding.search_tree import SearchTree, search_tree
from triptych.errors import UserError
from triptych.kernels.linear_cross_entropy import linear_cross_entropy


@dataclass(frozen=True)
class Translation:
    """The best translation of a line.

    Attributes:
        text: detokenised; empty for an empty line.
        cut: whether the length limit ended it.
    """

    text: str
    cut: bool


class Translator:
    """A model with its tokenizer: text in, text or scores out.

    Wherever a method has a ``direction`` (source and target language), None stands for the direction of the test sets.
    A direction with a source or target language that the model was not trained on raises ``UserError``.

    Wherever a method has ``search_tokens``, it is the maximum number of tokens at a time, including padding. It changes
    memory and speed only.

    Args:
        model: the trained model; it stays on its device.
        tokenizer: the tokenizer that the model was trained with.
        directions: the directions that the model was trained on, and the one of the test sets.
        search: how to translate where a method is given no other search.

    Attributes:
        search_model: what searches ask for the next token: the model.
        device: the device of the model.
    """

    def __init__(
        self, *, model: TranslationModel, tokenizer: Tokenizer, directions: Directions, search: Search
    ) -> None:
        self.model = model
        self.search_model: SearchableModel = model
        self.tokenizer = tokenizer
        self.directions = directions
        self.search = search
        self.device = next(model.parameters()).device

    def tags(self, direction: Direction | None = None) -> LanguageTags:
        """Return the tokens that end the sources and start the targets of a direction.

        Raises:
            UserError: a language that the model was not trained on.
        """
        if isinstance(direction, str) or (direction is not None and len(direction) != 2):
            raise UserError(f"direction={direction!r} must be the two languages, as {self.directions.tested}.")
        src, tgt = direction or self.directions.tested
        self.directions.require(src, tgt)
        return self.tokenizer.tags(src, tgt) if self.directions.several else LanguageTags()

    def translate(
        self,
        lines: Iterable[str],
        search: Search | None = None,
        search_tokens: int = 4096,
        direction: Direction | None = None,
    ) -> list[str]:
        """Return the best translation of each line, in the order given; an empty line stays empty."""
        return [best.text for best in self.best(lines, search, search_tokens, direction)]

    def best(
        self,
        lines: Iterable[str],
        search: Search | None = None,
        search_tokens: int = 4096,
        direction: Direction | None = None,
    ) -> list[Translation]:
        """Return the best translation of each line, and whether the length limit ended it."""
        return self._best(self.hypotheses(as_list(lines), search, search_tokens, direction))

    def best_by_penalty(
        self,
        lines: Iterable[str],
        penalties: Sequence[float],
        search: Search | None = None,
        search_tokens: int = 4096,
        direction: Direction | None = None,
    ) -> list[list[Translation]]:
        """Return what ``best`` returns with each of several length penalties, found in one search."""
        found = self.hypotheses_by_penalty(as_list(lines), penalties, search, search_tokens, direction)
        return list(map(self._best, found))

    def n_best(
        self,
        lines: Iterable[str],
        search: Search | None = None,
        search_tokens: int = 4096,
        direction: Direction | None = None,
        progress: Progress | None = None,
    ) -> list[list[tuple[str, float]]]:
        """Return up to ``search.n_best`` translations of each line with their scores, best first.

        The score is the log-probability divided by the length penalty. An empty line has no translations.
        ``progress`` is as for ``hypotheses``.
        """
        found = self.hypotheses(as_list(lines), search, search_tokens, direction, progress)
        return [[(self.text_of(hypothesis), hypothesis.score) for hypothesis in hypotheses] for hypotheses in found]

    def search_tree(
        self,
        line: str,
        beam_size: int | None = None,
        length_penalty: float | None = None,
        direction: Direction | None = None,
    ) -> SearchTree:
        """Return what the search considers at each step for one sentence, to be looked at.

        Args:
            line: the source sentence.
            beam_size: number of live hypotheses, 1 for greedy search; None for that of the translator's search.
            length_penalty: alpha of the length penalty; None likewise.
            direction: source and target language.

        Raises:
            UserError: an empty line, or a value outside its allowed range.
        """
        (line,) = as_list([line])
        if not line.strip():
            raise UserError("the line is empty, and has no search; give a sentence.")
        search = self.search if length_penalty is None else self.search.with_length_penalty(length_penalty)
        if beam_size is not None:
            search = search.with_beam(beam_size, min(search.n_best, beam_size))
        tags = self.tags(direction)
        src = torch.tensor([[*self._encode([line], "src")[0], tags.src_end]], device=self.device)
        starts = torch.tensor([tags.tgt_begin], device=self.device)
        root, found = search_tree(self.search_model, src, starts, search, self.tokenizer.vocabulary_pieces("tgt"))
        return SearchTree(line, root, found, [self.text_of(hypothesis) for hypothesis in found])

    def score(
        self,
        src: Iterable[str],
        tgt: Iterable[str],
        search_tokens: int = 4096,
        direction: Direction | None = None,
    ) -> list[float]:
        """Return log p(target | source) of each pair in nats, including ``</s>``.

        Raises:
            UserError: the numbers of sources and targets differ, one of them is a string instead of a list, or
                ``search_tokens`` is less than 1.
        """
        return self.score_ids(*self._encode_pairs(src, tgt), search_tokens, direction)

    @torch.inference_mode()
    def score_ids(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        search_tokens: int = 4096,
        direction: Direction | None = None,
    ) -> list[float]:
        """Return log p(target | source) of each pair in nats, including ``</s>``, given ids without special ids.

        Raises:
            UserError: a probability is no number, or ``search_tokens`` is less than 1.
        """
        require_search_tokens(search_tokens)
        lengths = np.array([[len(s) + 1, len(t) + 2] for s, t in zip(sources, targets, strict=True)]).reshape(-1, 2)
        scores, progress = np.empty(len(sources)), Progress("scoring", len(sources))
        for rows in plan_sorted(lengths, max(search_tokens, lengths.max(initial=0))):
            found = self.token_scores([sources[i] for i in rows], [targets[i] for i in rows], direction)
            scores[rows] = [float(tokens.sum()) for tokens in found]
            progress.finish(len(rows))
        if not np.isfinite(scores).all():
            raise UserError("the model's probabilities are no numbers: training has diverged; take another run.")
        return scores.tolist()

    @torch.inference_mode()
    def token_scores(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        direction: Direction | None = None,
    ) -> list[Tensor]:
        """Return log p of each target token after those before it, in nats, given ids without special ids.

        Returns:
            For each pair (target pieces + 1,) in double precision, the last one of ``</s>``. All pairs are one batch.
        """
        batch = Batch.from_ids(sources, targets, tags=[self.tags(direction)] * len(sources))
        with evaluation_mode(self.model):
            prediction = self.model(batch.to(self.device))
            hidden, ids = prediction.hidden[prediction.num_source :], prediction.targets[prediction.num_source :]
            ones = torch.ones_like(ids, dtype=torch.float32)
            _, nll = linear_cross_entropy(hidden, prediction.weight, ids, ones, ones * 0)
        return [-tokens for tokens in nll.double().split((batch.tgt_lengths - 1).tolist())]

    def attention(
        self,
        src: Iterable[str],
        tgt: Iterable[str] | None = None,
        search: Search | None = None,
        direction: Direction | None = None,
    ) -> list[AttentionMap]:
        """Return the attention weights of sentence pairs, computed with teacher forcing in one batch.

        Args:
            src: source lines.
            tgt: a target line for each of them; None for the model's own translations.
            search: how to translate if ``tgt`` is None.
            direction: source and target language.

        Returns:
            One map for each kind of attention; its weights are (pairs, layers, heads, queries, keys). The list is empty
            if the model has no attention or there are no pairs.

        Raises:
            UserError: the numbers of sources and targets differ, or one of them is a string instead of a list.
        """
        return self.attention_of_ids(*self.pair_ids(src, tgt, search, direction), direction)

    def attention_of_ids(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        direction: Direction | None = None,
    ) -> list[AttentionMap]:
        """Return what ``attention`` returns, given ids without special ids."""
        if not sources:
            return []
        batch = Batch.from_ids(sources, targets, tags=[self.tags(direction)] * len(sources)).to(self.device)
        with torch.no_grad(), evaluation_mode(self.model):
            maps = self.model.attention_maps(batch)
        return [one.in_single_precision() for one in maps]

    def pair_ids(
        self,
        src: Iterable[str],
        tgt: Iterable[str] | None = None,
        search: Search | None = None,
        direction: Direction | None = None,
    ) -> tuple[list[list[int]], list[list[int]]]:
        """Return the ids of sources and targets, without special ids; ``tgt=None`` is for the model's translations.

        A translation's ids are those that the model has written; its text may be encoded by others.

        Raises:
            UserError: as ``attention``.
        """
        if tgt is not None:
            return self._encode_pairs(src, tgt)
        src = as_list(src)
        found = self.hypotheses(src, search, 4096, direction)
        return self._encode(src, "src"), [best[0].tokens if best else [] for best in found]

    def hypotheses(
        self,
        lines: Sequence[str],
        search: Search | None = None,
        search_tokens: int = 4096,
        direction: Direction | None = None,
        progress: Progress | None = None,
    ) -> list[list[Hypothesis]]:
        """Return up to ``search.n_best`` hypotheses of each line, best first; none for an empty line.

        ``progress`` counts the lines of the whole text; None if these lines are all of it.
        """
        search = search or self.search
        penalties = [search.chosen_penalty]
        (found,) = self.hypotheses_by_penalty(lines, penalties, search, search_tokens, direction, progress)
        return found

    def hypotheses_by_penalty(
        self,
        lines: Sequence[str],
        penalties: Sequence[float],
        search: Search | None = None,
        search_tokens: int = 4096,
        direction: Direction | None = None,
        progress: Progress | None = None,
    ) -> list[list[list[Hypothesis]]]:
        """Return what ``hypotheses`` returns with each of several length penalties, found in one search."""
        progress = progress or Progress("translating", len(lines))
        filled = [i for i, line in enumerate(lines) if line.strip()]
        progress.finish(len(lines) - len(filled))
        sources = self._encode([lines[i] for i in filled], "src")
        tags = [self.tags(direction)] * len(sources)
        by_penalty = partial((search or self.search).by_penalty, penalties)
        found = decode(self.search_model, sources, by_penalty, search_tokens, self.device, tags, progress)
        results: list[list[list[Hypothesis]]] = [[[] for _ in lines] for _ in penalties]
        for i, sentence in zip(filled, found, strict=True):
            for result, hypotheses in zip(results, sentence, strict=True):
                result[i] = hypotheses
        return results

    def text_of(self, hypothesis: Hypothesis) -> str:
        return without_line_breaks(self.tokenizer.decode([hypothesis.tokens], "tgt")[0])

    def _best(self, found: Sequence[Sequence[Hypothesis]]) -> list[Translation]:
        """Return the best of each line's hypotheses; an empty line has none."""
        return [Translation(self.text_of(best[0]), best[0].cut) if best else Translation("", False) for best in found]

    def _encode_pairs(self, src: Iterable[str], tgt: Iterable[str]) -> tuple[list[list[int]], list[list[int]]]:
        src, tgt = as_list(src), as_list(tgt)
        if len(src) != len(tgt):
            raise UserError(f"there are {len(src)} sources and {len(tgt)} targets; give as many of each.")
        return self._encode(src, "src"), self._encode(tgt, "tgt")

    def _encode(self, lines: Sequence[str], side: str) -> list[list[int]]:
        """Return the ids of lines.

        Raises:
            UserError: a line is too long to be a sentence.
        """
        encoded = self.tokenizer.encode(lines, side)
        for line, ids in zip(lines, encoded, strict=True):
            if len(ids) > LONGEST:
                raise UserError(
                    f"the line '{line[:30]} …' has {len(ids):,} pieces, and at most {LONGEST:,} are possible; split it "
                    "into sentences."
                )
        return encoded
