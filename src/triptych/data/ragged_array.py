"""Sentences of unequal length in one flat array."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Ragged(NamedTuple):
    """Bare ids of some sentences, one after the other: flat (pieces,), and their lengths (B,)."""

    flat: NDArray[np.integer]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """From a list of ids for each sentence."""
        lengths = np.fromiter(map(len, rows), np.int64, count=len(rows))
        return cls(np.fromiter(chain.from_iterable(rows), np.int32, count=int(lengths.sum())), lengths)

    def rows(self) -> list[NDArray[np.integer]]:
        """The ids of each sentence."""
        return np.split(self.flat, np.cumsum(self.lengths)[:-1])


def take(flat: NDArray[np.integer], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Ragged:
    """The pieces ``flat[start : start + length]`` of each start and length (B,)."""
    places = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    places += np.arange(len(places))
    return Ragged(flat[places], lengths)
