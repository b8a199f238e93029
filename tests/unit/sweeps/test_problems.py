"""What a sweep says of arms that are not finished."""

from __future__ import annotations

from pathlib import Path

from made_runs import make_arm as make_arm_alone

from triptych.sweeps.arms import read_arms, set_status
from triptych.sweeps.sweep import Sweep


def make_arm(folder: Path, place: int, *overrides: str, **made: str) -> None:
    """An arm with an identity of its own."""
    make_arm_alone(folder, place, *overrides, **made)
    (folder / "arms" / f"{place:03}-0123abcd.json").rename(folder / "arms" / f"{place:03}-{place:08}.json")


def problems(folder: Path) -> list[str]:
    sweep = object.__new__(Sweep)  # a sweep whose arms are those that the folder has
    sweep._before = {}
    sweep.output, sweep.planned = folder, []
    return sweep.problems()


def test_each_reason_stands_once_with_its_arms(tmp_path: Path) -> None:
    make_arm(tmp_path, 0, "seed=1", run="a")
    make_arm(tmp_path, 1, "seed=2", status="failed", reason="there is no text.")
    make_arm(tmp_path, 2, "seed=3", status="running")
    make_arm(tmp_path, 3, "seed=4", status="failed", reason="there is no text.")
    assert problems(tmp_path) == [
        "seed=2; seed=4: there is no text.",
        "seed=3: cut off",
        "2 of 4 arms failed, 1 not finished",
    ]


def test_of_many_arms_the_first_are_named(tmp_path: Path) -> None:
    make_arm(tmp_path, 8, "scale=toy", "seed=8", run="a")
    for place in range(8):
        make_arm(tmp_path, place, "scale=toy", f"seed={place}", status="waiting")
    named = "; ".join(f"seed={place}" for place in range(5))
    assert problems(tmp_path) == [f"{named}; and 3 more: not run", "8 not finished"]


def test_one_reason_for_all_arms(tmp_path: Path) -> None:
    for place in range(6):
        make_arm(tmp_path, place, f"seed={place}", status="waiting")
    assert problems(tmp_path) == ["all 6 arms: not run", "6 not finished"]


def test_nothing_is_said_of_finished_arms(tmp_path: Path) -> None:
    make_arm(tmp_path, 0, "seed=1", run="a")
    assert problems(tmp_path) == []


def test_a_sweeper_that_chooses_its_arms_does_not_count_those_of_an_earlier_start(tmp_path: Path) -> None:
    make_arm(tmp_path, 0, "lr=1", status="running")
    sweep = object.__new__(Sweep)
    sweep.output, sweep.planned = tmp_path, []
    sweep._before = {arm.identity: arm for arm in read_arms(tmp_path)}
    assert not sweep.problems()
    assert not sweep.unfinished
    make_arm(tmp_path, 1, "lr=2", status="failed", reason="there is no text.")
    set_status(tmp_path, read_arms(tmp_path)[0], "running")
    assert sweep.problems() == ["lr=1: cut off", "lr=2: there is no text.", "1 of 2 arms failed, 1 not finished"]
