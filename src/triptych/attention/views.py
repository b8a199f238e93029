"""The kinds of attention of one sentence pair, without padding, with the tokens on both axes.

L layers, H heads, Q queries, K keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from triptych.attention.words import Tokens, between_words, is_special, tokens_of
from triptych.contract.model import AttentionMap
from triptych.contract.vocabulary import EOS
from triptych.data.tokenizer import Tokenizer

KINDS = {
    "cross": "Target to source",
    "encoder": "Source to source",
    "decoder": "Target to target",
    "sequence": "Whole sequence",
}
"""Titles of the kinds of attention, by the names of attention maps, in the order in which they are offered."""
NAMES = {
    "cross": "cross-attention (alignment)",
    "encoder": "self-attention of the encoder",
    "decoder": "self-attention of the decoder",
    "sequence": "self-attention over source and target",
}
"""What the attention maps of a name are, in words."""


@dataclass(frozen=True)
class View:
    """One kind of attention of one pair.

    A row of ``cross`` is labelled by the target token that is predicted there, not by the one that is read, so that the
    row of a word shows where the model looks when it writes the word.

    Attributes:
        kind: one of ``KINDS``, or the name of a model's own attention map; views of several models are shown beside
            each other by it.
        name: what it is, in words.
        source: name of the attention map that it shows, or shows a part of.
        weights: (L, H, Q, K).
        queries: tokens on the query axis.
        keys: tokens on the key axis.
        end: positions of the tokens that end the source, among the keys.
        first: first query and first key in the attention map; not (0, 0) for a part.
    """

    kind: str
    name: str
    source: str
    weights: NDArray[np.float32]
    queries: Tokens
    keys: Tokens
    end: tuple[int, ...]
    first: tuple[int, int] = (0, 0)

    def words(self) -> NDArray[np.float32]:
        """Return the weights between words: sums over the pieces of a key, means over those of a query."""
        return between_words(self.weights, self.queries, self.keys)


def views_of(maps: Sequence[AttentionMap], index: int, lengths: tuple[int, int], tokenizer: Tokenizer) -> list[View]:
    """Return the views of one pair of a batch, in the order of ``KINDS``.

    Args:
        maps: of the batch.
        index: of the pair.
        lengths: tokens of the pair's source with its last special token, and of its target with its first one.
        tokenizer: that the ids are of.
    """
    views = []
    for one in maps:
        sizes = {"src": lengths[0], "tgt": lengths[1], "joint": sum(lengths)}
        queries, keys = sizes[one.query_side], sizes[one.key_side]
        weights = one.weights[index, :, :, :queries, :keys].float().numpy(force=True)
        query_ids, key_ids = one.query_ids[index, :queries].tolist(), one.key_ids[index, :keys].tolist()
        if one.name == "cross":
            query_ids = [*query_ids[1:], EOS]
        ends = [lengths[0] - 1] if one.key_side != "tgt" and is_special(key_ids[lengths[0] - 1], tokenizer) else []
        query, key = tokens_of(query_ids, one.query_side, tokenizer), tokens_of(key_ids, one.key_side, tokenizer)
        name = NAMES.get(one.name, f"attention “{one.name}”")
        whole = View(one.name, name, one.name, weights, query, key, tuple(ends))
        if one.query_side == one.key_side == "joint":
            views.append(_target_to_source(whole, lengths[0], tokenizer))
        views.append(whole)
    order = [*KINDS]
    return sorted(views, key=lambda view: order.index(view.kind) if view.kind in order else len(order))


def _target_to_source(whole: View, num_source: int, tokenizer: Tokenizer) -> View:
    """Return the part of a joint sequence's attention that is comparable with cross-attention."""
    return View(
        kind="cross",
        name="part of the self-attention over source and target",
        source=whole.source,
        weights=whole.weights[:, :, num_source:, :num_source],
        queries=tokens_of([*whole.queries.ids[num_source + 1 :], EOS], "joint", tokenizer),
        keys=tokens_of(whole.keys.ids[:num_source], "joint", tokenizer),
        end=whole.end,
        first=(num_source, 0),
    )
