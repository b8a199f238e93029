"""The hypotheses of a beam search as a tree, to be looked at: for one sentence, step by step.

``Search`` keeps no history. Here it runs for one sentence, and all that it considers at each step is kept.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd
import torch
from torch import Tensor

from triptych.contract.searchable import SearchableModel
from triptych.contract.vocabulary import EOS
from triptych.decoding.beams import Beams, Hypothesis
from triptych.decoding.search import Candidates, Search

LIVE, FINISHED, DROPPED = "live", "finished", "dropped"
"""What becomes of a candidate: it is extended at the next step, it has ended, or the beam has no room for it."""


@dataclass
class SearchNode:
    """A candidate of one step of the search: the hypothesis that it continues, and one more token.

    Attributes:
        tokens: target ids of the whole hypothesis, without ``<s>``; ``</s>`` is the last of one that has ended with it.
        piece: text of the last token.
        log_probability: natural logarithm of the probability of all its tokens.
        fate: ``live``, ``finished`` or ``dropped``.
        score: log-probability divided by the length penalty, of a finished hypothesis; else None.
        children: candidates that continue this one, the most probable first.
    """

    tokens: tuple[int, ...]
    piece: str
    log_probability: float
    fate: str
    score: float | None = None
    children: list[SearchNode] = field(default_factory=list)

    def __iter__(self) -> Iterator[SearchNode]:
        """Go through this node and all below it, depth first."""
        yield self
        for child in self.children:
            yield from child


class SearchTree:
    """What a beam search has considered for one sentence. A notebook shows it as a tree whose branches open and close.

    Args:
        source: the sentence.
        root: the empty hypothesis.
        hypotheses: what the search returns, best first.
        translations: their texts.
    """

    def __init__(
        self, source: str, root: SearchNode, hypotheses: Sequence[Hypothesis], translations: Sequence[str]
    ) -> None:
        self.source = source
        self.root = root
        self.hypotheses = list(hypotheses)
        self.translations = list(translations)

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row for each candidate: ``step`` (from 1), ``hypothesis``, ``log_probability``, ``score`` and ``fate``."""
        rows = [
            {
                "step": len(node.tokens),
                "hypothesis": text,
                "log_probability": node.log_probability,
                "score": node.score,
                "fate": node.fate,
            }
            for node, text in _with_texts(self.root, "")
            if node.tokens
        ]
        columns = ["step", "hypothesis", "log_probability", "score", "fate"]
        table = pd.DataFrame(rows, columns=columns).astype({"score": float})
        return table.sort_values(["step", "log_probability"], ascending=[True, False], kind="stable", ignore_index=True)

    def is_best(self, node: SearchNode) -> bool:
        """Whether the best translation goes through a node."""
        best = (*self.hypotheses[0].tokens, EOS)
        return node.fate != DROPPED and node.tokens == best[: len(node.tokens)]

    def _repr_html_(self) -> str:
        """Return nested lists that open and close without a script, the way to the best translation open."""
        return f"<p>{html.escape(self.source)}</p>" + "".join(map(self._branch, self.root.children))

    def _branch(self, node: SearchNode) -> str:
        piece = html.escape(node.piece)
        mark = {DROPPED: f"<s>{piece}</s>", FINISHED: f"{piece} ✓"}.get(node.fate, piece)
        text = f"<b>{mark}</b>" if self.is_best(node) else mark
        score = "" if node.score is None else f", score {node.score:.2f}"
        figures = f"{node.log_probability:.2f}{score}".replace("-", "−")
        label = f"{text} <small>{figures}</small>"
        if not node.children:
            return f'<div style="margin-left: 2.1em">{label}</div>'
        opened = " open" if self.is_best(node) else ""
        inner = "".join(map(self._branch, node.children))
        return f'<details style="margin-left: 1em"{opened}><summary>{label}</summary>{inner}</details>'

    def __repr__(self) -> str:
        """Return the hypotheses that were not dropped, an indented line each."""
        lines = [self.source]
        for node in self.root:
            if node.tokens and node.fate != DROPPED:
                marks = ("✓" if node.fate == FINISHED else "") + ("*" if self.is_best(node) else "")
                lines.append(f"{'  ' * len(node.tokens)}{node.piece} {node.log_probability:.2f} {marks}".rstrip())
        return "\n".join(lines)


def search_tree(
    model: SearchableModel, src: Tensor, starts: Tensor, search: Search, pieces: Sequence[str]
) -> tuple[SearchNode, list[Hypothesis]]:
    """Search the translation of one sentence, and return the root of the tree and the hypotheses found, best first.

    Args:
        model: on the device of ``src``.
        src: (1, S) ids of the sentence; the last is ``</s>`` or a language tag.
        starts: (1,) the token that the translation starts with.
        search: greedy or beam search.
        pieces: text of each target id.
    """
    recorder = _Recorder(search, pieces)
    lengths = torch.tensor([src.shape[1]], device=src.device)
    (hypotheses,) = search(model, src, lengths, starts, on_step=recorder.record)
    return recorder.root, hypotheses


class _Recorder:
    """Keeps every candidate of every step of the search of one sentence."""

    def __init__(self, search: Search, pieces: Sequence[str]) -> None:
        self._search = search
        self._pieces = pieces
        self._nodes: dict[tuple[int, ...], SearchNode] = {(): SearchNode((), "", 0.0, LIVE)}

    @property
    def root(self) -> SearchNode:
        return self._nodes[()]

    def record(self, before: Beams, candidates: Candidates, after: Beams) -> None:
        """Keep the candidates of a step, and what became of each; but not of a step after the search is over."""
        if before.is_finished[0]:
            return
        length = before.tokens.shape[2]
        at_limit = int(before.limit[0]) == length
        live = {tuple(tokens[1:]) for tokens in after.tokens[0].tolist()}
        to_finish = int(after.num_finished[0] - before.num_finished[0])
        for log_prob, parent, token in zip(*(one[0].tolist() for one in candidates), strict=True):
            continued = tuple(before.tokens[0, parent, 1:].tolist())
            node = SearchNode((*continued, token), self._pieces[token], log_prob, DROPPED)
            if to_finish and (token == EOS or at_limit):
                node.fate, node.score = FINISHED, self._search.score(log_prob, length)
                to_finish -= 1
            elif node.tokens in live:
                node.fate = LIVE
            self._nodes[continued].children.append(node)
            self._nodes[node.tokens] = node


def _with_texts(node: SearchNode, before: str) -> Iterator[tuple[SearchNode, str]]:
    """Go through a node and all below it, each with the text of its hypothesis."""
    text = f"{before} {node.piece}".strip()
    yield node, text
    for child in node.children:
        yield from _with_texts(child, text)
