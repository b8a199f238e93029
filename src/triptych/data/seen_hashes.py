"""A set of 64-bit hashes that takes 8 bytes for each, and 16 while it grows; Python's would take about 80."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class SeenHashes:
    """Hashes in sorted arrays of falling sizes. An array is merged with the one before it once it is as large."""

    def __init__(self) -> None:
        self._arrays: list[NDArray[np.uint64]] = []

    def add(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Add hashes, and return which of them are new.

        Args:
            hashes: (n,) hashes. Of equal ones, only the first counts as new.

        Returns:
            (n,) truth values.
        """
        unique, first = np.unique(hashes, return_index=True)
        known = np.zeros(len(unique), bool)
        for array in self._arrays:
            place = np.minimum(np.searchsorted(array, unique), len(array) - 1)
            known |= array[place] == unique
        is_new = np.zeros(len(hashes), bool)
        is_new[first[~known]] = True
        added = unique[~known]
        while self._arrays and len(self._arrays[-1]) <= len(added):
            added = np.concatenate([self._arrays.pop(), added])
            added.sort(kind="stable")
        if len(added):
            self._arrays.append(added)
        return is_new
