"""Whether a training had converged when its budget ended, or diverged."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

LATE = 0.2
"""Share of a training, at its end, in which the loss should hardly fall any more."""
SMALL = 0.01
"""Fall of the validation loss in that time, in nats a token, up to which a training counts as converged."""


def late_fall(steps: Sequence[int], losses: Sequence[float]) -> float | None:
    """Return how far the lowest validation loss fell in the last fifth of a training, in nats a token.

    A loss between two validations is interpolated linearly. None if there are fewer than two validations.

    Args:
        steps: optimizer steps of the validations, in order. The last is taken for the end of the training.
        losses: of each validation.
    """
    if len(steps) < 2:
        return None
    reached, lowest = np.asarray(steps), np.minimum.accumulate(np.asarray(losses))
    return float(np.interp((1 - LATE) * reached[-1], reached, lowest) - lowest[-1])


def still_falling(fall: float | None) -> bool:
    """Return whether a loss with this late fall would have gone on falling."""
    return fall is not None and fall > SMALL


def has_diverged(last: float, unigram: float | None) -> bool:
    """Return whether a training diverged, or never began to learn.

    Its last validation loss is not finite, or not below the loss of predicting each target by its frequency, as after
    the failed trainings of Xiong et al. 2020 (section 3.2), which still end with a loss. Wortsman et al. 2023 (arXiv
    2309.14322, section 2) likewise count a loss above that of the first step as that, since nothing was learned.

    Args:
        last: the last validation loss, in nats a token.
        unigram: the loss of predicting by frequency (``data.unigram``); None if it is not known.
    """
    return not math.isfinite(last) or (unigram is not None and last >= unigram)
