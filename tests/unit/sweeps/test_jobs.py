"""How many arms run at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from triptych.config.composition import arms_of, compose_run
from triptych.errors import UserError
from triptych.runs.identity import identifying_overrides
from triptych.sweeps import jobs
from triptych.sweeps.jobs import Needs, chosen_jobs, jobs_that_fit, longest_first, needs_of, side_by_side_pays

GB = 10**9


def chosen(*overrides: str) -> int | None:
    found = arms_of("train", ["-m", "scale=smoke", "seed=1,2", *overrides])
    assert found is not None
    return chosen_jobs(*found)


def test_the_user_chooses_unless_a_launcher_does() -> None:
    assert chosen() is None
    assert chosen("jobs=3") == 3
    assert chosen("hydra/launcher=joblib") == 1
    with pytest.raises(UserError, match=r"jobs=2: JoblibLauncher decides how many arms .* leave out jobs=…"):
        chosen("hydra/launcher=joblib", "jobs=2")


@pytest.mark.parametrize("value", ["0", "2.5", "many", "true", "null"])
def test_a_number_or_auto(value: str) -> None:
    with pytest.raises(UserError, match="must be auto, or the number of arms"):
        compose_run(["scale=smoke", f"jobs={value}"])


def test_jobs_do_not_identify_a_run() -> None:
    assert identifying_overrides(["jobs=2", "seed=1"]) == ["seed=1"]


@pytest.mark.parametrize(
    ("cores", "free", "arms", "expected"),
    [
        (2, 16 * GB, [1, 1, 1], 2),  # cores
        (8, 16 * GB, [1, 1, 1], 3),  # arms
        (8, 5 * GB, [1, 2, 1, 1], 2),  # memory: of the largest
        (8, 1 * GB, [2, 2], 1),  # too little memory is tried all the same
        (2, None, [1, 1], 2),  # a system that does not say
    ],
)
def test_as_many_as_cores_and_memory_allow(
    cores: int, free: int | None, arms: list[int], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "available_cores", lambda: cores)
    monkeypatch.setattr(jobs, "free_memory_bytes", lambda: free)
    assert jobs_that_fit([Needs(size * GB, 1e12) for size in arms]) == expected
    assert jobs_that_fit([Needs(size * GB, 1e9) for size in arms]) == 1, "shorter than the start of a process"


def test_the_longest_starts_first_and_ties_keep_their_order() -> None:
    assert longest_first([Needs(0, 1.0), None, Needs(0, 3.0), Needs(0, 1.0)]) == [2, 0, 3, 1]


def test_one_at_a_time_on_gpus_and_on_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    arms = [compose_run(["scale=smoke", f"seed={seed}"]) for seed in (1, 2)]
    several = compose_run(["scale=smoke", "strategy.devices=2"])
    gpu = compose_run(["scale=smoke", "strategy=single_gpu"])
    monkeypatch.setattr(jobs, "available_cores", lambda: 2)
    assert side_by_side_pays(arms)
    assert not side_by_side_pays(arms[:1])
    assert not side_by_side_pays([*arms, several])
    assert not side_by_side_pays([*arms, gpu])
    monkeypatch.setattr(jobs, "available_cores", lambda: 1)
    assert not side_by_side_pays(arms)


def test_needs_grow_with_the_model_and_the_steps(tmp_path: Path) -> None:
    small = ["scale=smoke", "data.train=100", "tokenizer=char", "budget.steps=2", f"cache={tmp_path}"]
    large = [*small, "model.d_ff=4096", "budget.steps=4"]
    missing = [*small, "data=text", f"data.dir={tmp_path}", "data.train=no", "data.src=en", "data.tgt=fr"]
    one, other, none = needs_of([compose_run(arm) for arm in (small, large, missing)])
    assert one is not None
    assert other is not None
    assert none is None, "its own process says what is wrong"
    assert other.memory > one.memory + 4 * 4 * 2 * 2 * 32 * (4096 - 64), "weights, gradients, averages of two blocks"
    assert other.flops > 2 * one.flops
