"""Arms are called by what tells them apart."""

from __future__ import annotations

from pathlib import Path

from triptych.sweeps.arms import plan_arms, read_arms


def labels(folder: Path, *sweep: list[str]) -> list[str | None]:
    return [arm.label for arm in plan_arms(folder, None, sweep)]


def test_shared_overrides_are_left_out(tmp_path: Path) -> None:
    assert labels(tmp_path, ["scale=toy", "model=rnn", "seed=1"], ["scale=toy", "model=lm4mt", "seed=1"]) == [
        "rnn",
        "lm4mt",
    ]


def test_labels_are_kept_and_never_given_twice(tmp_path: Path) -> None:
    assert labels(tmp_path, ["model=rnn", "a.x=1"]) == [None]
    assert labels(tmp_path, ["model=rnn", "a.x=1"], ["model=rnn", "a.x=2"]) == [None, "x_2"]
    (again,) = labels(tmp_path, ["model=rnn", "b.x=2"])
    assert again is not None
    assert again.startswith("x_2-")
    assert len({arm.label for arm in read_arms(tmp_path)}) == 3


def test_no_equals_sign_or_comma_in_a_path(tmp_path: Path) -> None:
    found = labels(tmp_path, ["metric=[bleu,chrf]"], ["data.dir=/a=b,c"], ["model/encoder=rnn", "+x={y:1}"])
    assert not any(set(label or "") & set("=,/[]{}: ") for label in found)
