"""Arms of one trunk run in the order of their budgets."""

from __future__ import annotations

import pytest

from triptych.config.composition import compose_run
from triptych.sweeps.budget_order import smaller_budgets
from triptych.sweeps.forecast import Estimate
from triptych.sweeps.forecast_figures import figures, notes
from triptych.sweeps.jobs import training_of

SHARED = ["scale=smoke", "optimizer=cooldown"]


def test_an_arm_waits_for_smaller_budgets_of_its_trunk() -> None:
    arms = [
        compose_run([*SHARED, f"model={model}", *more])
        for model, more in (
            ("transformer", ["budget.steps=8"]),
            ("transformer", ["budget.steps=4", "search=greedy"]),
            ("transformer", ["budget.steps=32"]),
            ("lm4mt", ["budget.steps=16"]),
            ("transformer", ["budget.steps=16", "seed=2"]),
            ("transformer", ["budget.steps=null", "budget.epochs=1"]),
        )
    ]
    trainings = [training_of(arm) for arm in arms]
    assert smaller_budgets(arms) == [
        {trainings[1]},
        set(),
        {trainings[0], trainings[1]},
        set(),
        set(),
        set(),
    ]
    decayed = [compose_run([*SHARED, "model=lm4mt", "loss=decayed", f"budget.steps={steps}"]) for steps in (4, 8)]
    assert smaller_budgets(decayed) == [set(), set()], "lambda depends on the budget"


def test_a_forecast_counts_a_trunk_once() -> None:
    arms = [
        Estimate(
            overrides=(name,),
            training=name,
            device="cpu",
            peak=1e12,
            parameters=1000,
            steps=steps,
            tokens=10 * steps,
            flops=100.0 * steps,
            memory=0,
            disk=0,
            averaged=0,
            seconds=1.0 * steps,
            measured=True,
            precision="32-true",
            utilisation=0.35,
            devices=1,
            share_of_gpu=False,
            validation_seconds=0.0,
            translation_seconds=0.0,
            trunk=trunk,
            trunk_steps=kept,
        )
        for name, steps, trunk, kept in (
            ("short", 10, "t", 8),
            ("long", 40, "t", 32),
            ("middle", 20, "t", 16),
            ("other", 20, "u", 16),
            ("alone", 40, None, 0),
        )
    ]
    found = figures(arms).set_index("arm")
    assert found["tokens"].to_dict() == {"short": 100, "long": 240, "middle": 120, "other": 200, "alone": 400}
    assert found["flops"].tolist() == pytest.approx([1000, 2400, 1200, 2000, 4000])
    assert found["seconds"].tolist() == pytest.approx([10, 24, 12, 20, 40])
    assert any("trunk" in line for line in notes(arms, None, None))
