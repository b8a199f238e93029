"""Convert a budget of steps, epochs, tokens or FLOPs to optimizer steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from triptych.accounting.flops import FORWARDS_PER_TRAINING_STEP
from triptych.contract.model import TranslationModel
from triptych.data.batching import Stream, unique_length_pairs


def total_steps(
    stream: Stream,
    *,
    steps: int | None,
    epochs: int | None,
    tokens: int | None,
    flops: float | None,
    times: float,
    model: TranslationModel,
    autoencode: Callable[[float], float],
) -> int:
    """Return the number of optimizer steps of a budget. Exactly one kind of budget is given, the others are None.

    Args:
        stream: the training's batches.
        steps: optimizer steps.
        epochs: passes over the training split.
        tokens: source and target tokens; the step that reaches them is the last.
        flops: FLOPs of forward and backward passes, as ``accounting.training_flops`` counts them; the step that reaches
            them is the last.
        times: multiple of the budget that is trained for, at least one step of it.
        model: model to train.
        autoencode: lambda of the loss, by progress. Where it is 0, the model does not compute source predictions.
    """
    if steps is not None:
        return max(1, round(times * steps))
    if epochs is not None:
        return max(1, round(times * epochs * stream.epoch_steps))
    if tokens is not None:
        return stream.steps_for(max(1, round(times * tokens)))
    assert flops is not None
    return steps_for_flops(stream, times * flops, model, autoencode)


def steps_for_flops(stream: Stream, flops: float, model: TranslationModel, autoencode: Callable[[float], float]) -> int:
    """Return the smallest number of optimizer steps S that take at least ``flops``.

    Whether step s computes source predictions depends on lambda(s/S), and so on S itself. S is therefore found by
    bisection.
    """
    whole, source = pair_flops(stream, model)
    spent: list[tuple[float, float]] = []
    least = 0.0
    for window in stream.windows():
        rows = np.concatenate(window.batches)
        spent.append((float(whole[rows].sum()), float(source[rows].sum())))
        least += spent[-1][0] - spent[-1][1]
        if least >= flops:
            break
    of_step = np.array(spent)

    def taken(total: int) -> float:
        predicted = np.array([autoencode(step / total) > 0 for step in range(total)])
        return float((of_step[:total, 0] - np.where(predicted, 0.0, of_step[:total, 1])).sum())

    low, high = 0, len(spent)  # taken(low) < flops <= taken(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if taken(middle) < flops else (low, middle)
    return high


def pair_flops(stream: Stream, model: TranslationModel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the training FLOPs of each pair, forward and backward: in all, and the part that predicts the source."""
    unique, indices = unique_length_pairs(stream.lengths)
    forward = [(model.flops(src, tgt), model.source_prediction_flops(src)) for src, tgt in unique.tolist()]
    whole, source = FORWARDS_PER_TRAINING_STEP * np.array(forward, np.float64)[indices].T
    return whole, source
