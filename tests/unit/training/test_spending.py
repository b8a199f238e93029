"""What a training has cost, as dashboards show it."""

from __future__ import annotations

import pytest
from conftest import build_model

from triptych.accounting.flops import training_flops
from triptych.training.spending import FlopCount, Spent


def test_flops_are_those_of_the_result_and_each_length_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, asked = build_model("model=lm4mt"), []
    flops = type(model).flops
    monkeypatch.setattr(type(model), "flops", lambda self, *given: asked.append(given) or flops(self, *given))
    count, pairs = FlopCount(model), {(5, 4, True): 3, (5, 4, False): 2, (9, 7, True): 1}
    assert count(pairs) == training_flops(model, pairs)
    before = len(asked)
    more = {**pairs, (5, 4, True): 40}
    assert count(more) == training_flops(model, more)
    assert len(asked) - before == len(more), "the second count asked nothing, and training_flops each once"


def test_rates_are_over_the_time_since() -> None:
    before, now = Spent(tokens=100, flops=4000, seconds=10.0), Spent(tokens=300, flops=10_000, seconds=14.0)
    assert now.rates_since(before, peak=3000.0) == {
        "train/tokens_per_second": 50.0,
        "train/flops_per_second": 1500.0,
        "train/share_of_peak": 0.5,
    }
    assert "train/share_of_peak" not in now.rates_since(before, peak=None)
    assert now.axes() == {"train/tokens": 300.0, "train/flops": 10_000.0, "train/hours": 14 / 3600}
