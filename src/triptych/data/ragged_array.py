"""Rows of unequal length in one flat array."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class RaggedArray(NamedTuple):
    """Ids of B sentences, stored one after the other.

    Attributes:
        flat: (sum of lengths,) ids of all sentences.
        lengths: (B,) number of ids in each sentence.
    """

    flat: NDArray[np.integer]
    lengths: NDArray[np.int64]

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[int]]) -> RaggedArray:
        """Build the array from one list of ids per sentence."""
        lengths = np.fromiter(map(len, rows), np.int64, count=len(rows))
        return cls(np.fromiter(chain.from_iterable(rows), np.int32, count=int(lengths.sum())), lengths)

    def rows(self) -> list[NDArray[np.integer]]:
        """Return the ids of each sentence as an array of its own."""
        return np.split(self.flat, np.cumsum(self.lengths)[:-1])


def take_slices(flat: NDArray[np.integer], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> RaggedArray:
    """Return the slices ``flat[start : start + length]`` as the rows of a ragged array.

    Args:
        flat: one-dimensional array to take from.
        starts: (B,) first position of each slice.
        lengths: (B,) length of each slice.
    """
    positions = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    positions += np.arange(len(positions))
    return RaggedArray(flat[positions], lengths)
