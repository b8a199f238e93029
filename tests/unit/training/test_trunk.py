"""Which trainings share their first steps with larger budgets."""

from __future__ import annotations

import pytest
from conftest import compose_train

from triptych.runs.identity import BUDGET, config_hash
from triptych.training.trunk import has_trunk, trunk_steps


def test_the_steps_before_the_cooldown_are_shared() -> None:
    config = compose_train("scale=smoke", "optimizer=cooldown")
    assert trunk_steps(config, 100) == 80
    assert trunk_steps(config, 4) == 3
    assert trunk_steps(compose_train("scale=smoke", "optimizer=constant"), 100) == 0


@pytest.mark.parametrize(
    ("override", "shares"),
    [
        ("loss=translation", True),
        ("loss=joint", True),
        ("loss=decayed", False),
        ("optimizer=cosine", False),
        ("callbacks=[early_stopping]", False),
        ("strategy.devices=2", False),
    ],
)
def test_what_depends_on_the_budget_shares_nothing(override: str, shares: bool) -> None:
    given = ["scale=smoke", "optimizer=cooldown", override]
    assert has_trunk(compose_train(*given)) is shares


def test_a_trunk_is_shared_by_budgets_alone() -> None:
    def trunk_hash(*more: str) -> str:
        return config_hash(compose_train("scale=smoke", "optimizer=cooldown", *more), "", leaving_out=BUDGET)

    assert trunk_hash("budget.steps=10") == trunk_hash("budget.steps=40", "search=greedy", "test=false")
    for other in ("seed=2", "loss=joint", "optimizer.schedule.warmup=3", "validation.every=7", "batch.tokens=512"):
        assert trunk_hash(other) != trunk_hash(), other
