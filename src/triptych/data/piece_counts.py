"""How often each piece of a vocabulary occurs in encoded text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from triptych.data.store import Store

BLOCK = 2**22
"""Number of ids that are counted at a time, since counting takes eight bytes an id."""


def count_pieces(store: Store, side: str, size: int) -> NDArray[np.int64]:
    """Return how often each piece occurs on a side of a split, special ids not counted: (size,).

    Args:
        store: the encoded split.
        side: ``src`` or ``tgt``.
        size: number of pieces of that side.
    """
    counts = np.zeros(size, np.int64)
    ids = store.ids[side]
    for start in range(0, len(ids), BLOCK):
        counts += np.bincount(ids[start : start + BLOCK], minlength=size)
    return counts
