"""Validation and test sets that are held out of the training files: a share of their pairs, chosen by a hash."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from typing import Any

from triptych.data.directions import Directions
from triptych.data.pairs import TEST, TRAIN, VALIDATION
from triptych.errors import UserError

FILES = {VALIDATION: "PREFIX", TEST: "[PREFIX]"}
"""How the files of a split are given instead of a share."""


@dataclass(frozen=True)
class HashRange:
    """Which pairs of the training files a split has, if other splits are held out of these files.

    A hash of the source line, from 0 to 1, decides: the validation set has the lowest, the test set the highest, and
    training those between. So a pair stays where it is when lines are added or moved, and pairs of equal sources are in
    the same split.

    Attributes:
        low: lowest hash of the split.
        high: all hashes of the split are below this. Of the last split it is infinite, as rounding may make a hash 1.
    """

    low: float
    high: float

    def has(self, src: str) -> bool:
        """Whether the split has the pairs with this source."""
        digest = hashlib.blake2b(src.encode(), digest_size=8).digest()
        return self.low <= int.from_bytes(digest, "big") / 2**64 < self.high


def ranges_of_splits(validation: Any, test: Any, directions: Directions) -> dict[str, HashRange]:
    """Return which pairs of the training files each split has; none if no split is held out of them.

    Args:
        validation: value of ``data.validation``: a share of the training pairs, or where the files are.
        test: value of ``data.test``, likewise.
        directions: of training.

    Raises:
        UserError: a number is no share, nothing is left to train on, or training mixes directions: a sentence that is
            held out of one is a source or a target of others.
    """
    given = {VALIDATION: validation, TEST: test}
    for split, value in given.items():
        if isinstance(value, str) and re.fullmatch(r"\d*\.?\d*%?", value):
            raise UserError(f"data.{split}='{value}' must be a number for a share of the training pairs, such as 0.05.")
    shares = {split: value for split, value in given.items() if isinstance(value, int | float)}
    for split, share in shares.items():
        files = f"data.{split}={FILES[split]}"
        if not 0 < share < 1:
            raise UserError(f"data.{split}={share} is no share of the training pairs; give 0.02, say, or {files}.")
        if directions.several:
            raise UserError(f"data.{split}={share} is for one direction; give files, as {files}.")
    if not shares:
        return {}
    low, high = shares.get(VALIDATION, 0.0), 1 - shares[TEST] if TEST in shares else math.inf
    if low >= high:
        raise UserError(
            f"data.validation={validation} and data.test={test} leave nothing to train on; give shares whose sum is "
            "below 1."
        )
    ranges = {TRAIN: HashRange(low, high), VALIDATION: HashRange(0.0, low), TEST: HashRange(high, math.inf)}
    return {split: ranges[split] for split in (TRAIN, *shares)}
