"""What one attention head does on average over a sentence, in a few figures.

L layers, H heads, Q queries, K keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

MEASURES = {
    "entropy": "mean entropy of a query's weights, in nats; 0 if each query looks at one token",
    "end": "mean weight on the token that ends the source",
    "first": "mean weight on the first key",
    "diagonal": "mean weight on the key at the query's own position",
    "previous": "mean weight on the key one position before the query's",
    "next": "mean weight on the key one position after the query's",
    "sum": "mean weight on all keys that are shown; less than 1 where the keys are a part of the sequence",
}
"""Key and meaning of each figure. Positions are counted from the first key and the first query that are shown."""


def summarize(weights: NDArray[np.float32], end: Sequence[int]) -> Mapping[str, NDArray[np.float64] | None]:
    """Return each of ``MEASURES`` for every head: (L, H), or None where no key or query makes it possible.

    The entropy is that of a query's weights divided by their sum, so that a part of a sequence has one too.

    Args:
        weights: (L, H, Q, K).
        end: positions of the tokens that end the source, among the keys.
    """
    w = weights.astype(np.float64)
    sums = w.sum(-1, keepdims=True)
    shares = np.divide(w, sums, out=np.zeros_like(w), where=sums > 0)
    entropy = -(shares * np.log(shares, out=np.zeros_like(w), where=shares > 0)).sum(-1)
    return {
        "entropy": entropy.mean(-1),
        "end": w[..., list(end)].sum(-1).mean(-1) if end else None,
        "first": w[..., 0].mean(-1),
        "diagonal": _mean_of_diagonal(w, 0),
        "previous": _mean_of_diagonal(w, -1),
        "next": _mean_of_diagonal(w, 1),
        "sum": sums[..., 0].mean(-1),
    }


def _mean_of_diagonal(w: NDArray[np.float64], offset: int) -> NDArray[np.float64] | None:
    """Return the mean of the weights (…, q, q + offset), over the queries that have such a key; None if none has."""
    diagonal = np.diagonal(w, offset, axis1=-2, axis2=-1) if -w.shape[-2] < offset < w.shape[-1] else w[..., 0, :0]
    return diagonal.mean(-1) if diagonal.shape[-1] else None
