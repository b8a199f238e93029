"""What the page holds of attention: JSON, with weights as 16-bit integers.

L layers, H heads, Q queries, K keys.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triptych.attention.summaries import summarize
from triptych.attention.views import View
from triptych.attention.words import Tokens

SCALE = 65535
"""Weights are multiples of 1 / SCALE on the page: rounded by at most 8e-6."""


def contents_of_views(
    views: Sequence[View], effects: Mapping[str, NDArray[np.float64]], off: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the content of all views of one pair. A part of an attention map has no weights of its own.

    Args:
        views: of the pair.
        effects: change of the score without each head, by the name of the attention map; may lack some.
        off: names of the heads that are switched off.
    """
    contents = []
    for view in views:
        change = effects.get(view.source)
        content = {
            "kind": view.kind,
            "name": view.name,
            "source": view.source,
            "layers": view.weights.shape[0],
            "heads": view.weights.shape[1],
            "queries": _axis(view.queries),
            "keys": _axis(view.keys),
            "summaries": {
                "pieces": _figures(view.weights, view.end),
                "words": _figures(view.words(), sorted({_word_at(view.keys, at) for at in view.end})),
            },
            "effects": None if change is None else change.round(4).tolist(),
            "off": [name for name in off if name.split(".")[0] == view.source],
        }
        if view.first == (0, 0):
            content |= encode_weights(view.weights)
        else:
            wholes = (i for i, other in enumerate(views) if other.first == (0, 0) and other.source == view.source)
            content |= {"part_of": next(wholes), "first": view.first}
        contents.append(content)
    return contents


def encode_weights(weights: NDArray[np.float32]) -> dict[str, Any]:
    """Return the weights in base64, as unsigned little-endian 16-bit integers, and how many keys each query has there.

    The keys that no head and layer looks at from a query, as those after it in a causal model, are left out of the end
    of its row. The order is that of the axes: layer, head, query, key.
    """
    whole: NDArray[np.uint16] = np.rint(weights * SCALE).astype("<u2")
    seen: NDArray[np.bool_] = np.any(whole, axis=(0, 1))
    counts = np.where(seen.any(1), seen.shape[1] - seen[:, ::-1].argmax(1), 0)
    kept = np.arange(seen.shape[1]) < counts[:, None]
    return {"counts": counts.tolist(), "weights": base64.b64encode(whole[:, :, kept].tobytes()).decode()}


def decode_weights(content: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return the weights (L, H, Q, K) that ``encode_weights`` has written."""
    counts, keys = np.array(content["counts"]), len(content["keys"]["pieces"])
    weights = np.zeros((content["layers"], content["heads"], len(counts), keys))
    kept = np.arange(keys) < counts[:, None]
    stored = np.frombuffer(base64.b64decode(content["weights"]), "<u2")
    weights[:, :, kept] = stored.reshape(*weights.shape[:2], -1) / SCALE
    return weights


def content_of_ablation(
    target: Tokens,
    scores: tuple[NDArray[np.float64], NDArray[np.float64]],
    translations: tuple[str, str],
) -> dict[str, Any]:
    """Return what switching heads off has changed.

    Args:
        target: the tokens whose scores are given.
        scores: log p in nats of each of them, with all heads and without some.
        translations: the model's own, likewise.
    """
    before, after = (np.add.reduceat(one, target.starts) for one in scores)
    first, second = (text.split() for text in translations)
    return {
        "before": float(scores[0].sum()),
        "after": float(scores[1].sum()),
        "words": [[word, round(float(change), 4)] for word, change in zip(target.words, after - before, strict=True)],
        "translations": [mark_changes(first, second), mark_changes(second, first)],
    }


def mark_changes(words: Sequence[str], others: Sequence[str]) -> list[tuple[str, bool]]:
    """Return each word, and whether it is not in the longest alignment with the others."""
    blocks = SequenceMatcher(None, words, others, autojunk=False).get_matching_blocks()
    same = {at for block in blocks for at in range(block.a, block.a + block.size)}
    return [(word, i not in same) for i, word in enumerate(words)]


def _axis(tokens: Tokens) -> dict[str, Any]:
    return {"pieces": tokens.pieces, "words": tokens.words, "starts": tokens.starts}


def _figures(weights: NDArray[np.float32], end: Sequence[int]) -> dict[str, Any]:
    figures = summarize(weights, end)
    return {name: None if one is None else one.round(4).tolist() for name, one in figures.items()}


def _word_at(tokens: Tokens, piece: int) -> int:
    """Return the index of the word that a piece belongs to."""
    bounds = [*tokens.starts, len(tokens.pieces)]
    return next(i for i, (start, end) in enumerate(pairwise(bounds)) if start <= piece < end)
