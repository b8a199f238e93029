"""The loss of a prediction that knows how frequent each piece is, and nothing else."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from triptych.contract.vocabulary import EOS
from triptych.data.piece_counts import count_pieces
from triptych.data.store import Store


def unigram_loss(train: Store, validation: Store, size: int) -> float | None:
    """Return the loss on the validation targets, in nats a token, if each is predicted by its frequency in training.

    It is the cross-entropy of the target pieces and ``</s>``, with one added to each count for pieces that training
    lacks. A model that does not come below it has learned nothing of the source or the order of words.

    Args:
        train: encoded pairs that frequencies are counted in.
        validation: encoded pairs whose targets are predicted.
        size: number of target pieces.

    Returns:
        None without validation pairs.
    """
    predicted = _count(validation, size)
    if not predicted.sum():
        return None
    known = _count(train, size) + 1
    return float(predicted @ (math.log(known.sum()) - np.log(known)) / predicted.sum())


def _count(store: Store, size: int) -> NDArray[np.int64]:
    """Return how often each piece is a target, (size,). Every pair has one ``</s>``."""
    counts = count_pieces(store, "tgt", size)
    counts[EOS] += len(store)
    return counts
