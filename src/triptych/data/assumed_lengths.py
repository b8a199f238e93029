"""Lengths of sentences that are assumed where there is no text, as in WMT'14 English-French."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MEAN, DEVIATION = 25, 15
"""Mean and standard deviation of the number of words in a sentence."""
RATIO, RATIO_DEVIATION = 1.1, 0.2
"""Mean and standard deviation of a translation's words for each word of its source."""
LONGEST = 100
"""Most words of a sentence."""


def sentence_lengths(random: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Draw the number of words of ``count`` sentences, each between 1 and ``LONGEST``."""
    return random.normal(MEAN, DEVIATION, count).round().clip(1, LONGEST).astype(np.int64)


def lengths_of_pairs(count: int) -> NDArray[np.int32]:
    """Draw the number of words of ``count`` pairs, (count, 2). A long sentence has a long translation."""
    random = np.random.default_rng(0)
    source = sentence_lengths(random, count)
    target = (source * random.normal(RATIO, RATIO_DEVIATION, count)).round().clip(1, LONGEST)
    return np.stack([source, target], axis=1).astype(np.int32)
