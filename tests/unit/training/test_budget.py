"""Budgets in optimizer steps."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import numpy as np
import pytest
from conftest import build_model

from triptych.accounting.flops import training_flops
from triptych.data.batching import Stream
from triptych.training.budget import total_steps
from triptych.training.schedules import Decayed, Piecewise

LENGTHS = np.random.default_rng(0).integers(3, 12, (300, 2))


def steps(model: Any, autoencode: Any, **budget: Any) -> int:
    stream = Stream(LENGTHS, tokens=60, seed=1, size=2)
    given = {"steps": None, "epochs": None, "tokens": None, "flops": None, "times": 1.0, **budget}
    return total_steps(stream, **given, model=model, autoencode=autoencode)


def spent(model: Any, autoencode: Any, total: int) -> int:
    """What a training of so many steps takes, by the count that ``result.json`` has."""
    windows = islice(Stream(LENGTHS, tokens=60, seed=1, size=2).windows(), total)
    pairs: Counter[tuple[int, int, bool]] = Counter()
    for step, window in enumerate(windows):
        for src, tgt in LENGTHS[np.concatenate(window.batches)].tolist():
            pairs[src, tgt, autoencode(step / total) > 0] += 1
    return training_flops(model, pairs)


@pytest.mark.parametrize("name", ["rnn_tiny", "transformer_tiny", "lm4mt_tiny"])
@pytest.mark.parametrize(
    "autoencode", [Piecewise(points=[(0.0, 0.0)]), Decayed(alpha=0.0, beta=0.25), Decayed(alpha=0.1, beta=0.25)]
)
def test_flops_are_met_by_the_fewest_steps(name: str, autoencode: Any) -> None:
    model = build_model(f"model={name}")
    budget = 0.9 * spent(model, autoencode, 57)
    found = steps(model, autoencode, flops=budget)
    assert spent(model, autoencode, found) >= budget
    assert spent(model, autoencode, found - 1) < budget


def test_a_multiple_of_a_budget() -> None:
    model, none = build_model("model=rnn_tiny"), Piecewise(points=[(0.0, 0.0)])
    epoch = steps(model, none, epochs=1)
    assert steps(model, none, steps=20, times=0.653) == 13
    assert steps(model, none, steps=1, times=0.1) == 1
    assert steps(model, none, epochs=2, times=0.5) == epoch
    budget = spent(model, none, 40)
    assert steps(model, none, flops=budget, times=0.5) == steps(model, none, flops=budget / 2)
    assert steps(model, none, tokens=2000, times=0.5) == steps(model, none, tokens=1000)


def test_other_budgets() -> None:
    model, none = build_model("model=rnn_tiny"), Piecewise(points=[(0.0, 0.0)])
    assert steps(model, none, steps=7) == 7
    assert steps(model, none, epochs=3) == 3 * steps(model, none, epochs=1)
    assert steps(model, none, tokens=1) == 1
    assert steps(model, none, tokens=4, times=0.1) == 1, "a part of the first step"
