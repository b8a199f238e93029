"""The folders of runs have short names, which need no quotes in a shell."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import triptych

SMALL = [
    *("scale=smoke", "cache=cache", "budget.steps=1", "validation.every=1"),
    *("data.train=200", "data.test=3", "data.test_long=3", "tokenizer.vocab_size=360"),
]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["model.d_ff=48", "length_edges=[5,10]"], [r"transformer-toy-[0-9a-f]{8}"]),
        (["name=mine"], ["mine"]),
        pytest.param(["-m", "length_edges=[5,10],[10,20]", "seed=1,2"], [r".*seed_[12].*"] * 4, marks=pytest.mark.slow),
        (["-m", "experiment=normalization", "arm=normalization/post"], [r".*"]),
        pytest.param(
            ["-m", "experiment=schedule"],
            [r".*noam.*", r".*cosine.*", r".*constant.*", r".*inverse_sqrt.*"],
            marks=pytest.mark.slow,
        ),
    ],
    ids=["run", "name", "lists-and-seeds", "arm", "experiment"],
)
def test_no_path_has_an_equals_sign_or_a_comma(arguments: list[str], names: list[str], tmp_path: Path) -> None:
    done = triptych("train", *arguments, *SMALL, "output=runs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    runs = [path.parent.name for path in tmp_path.glob("runs/*/result.json")]
    assert len(runs) == len(names)
    for name in names:
        assert any(re.fullmatch(name, run) for run in runs), runs
    paths = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")]
    assert not [path for path in paths if re.search(r"[=,\s]", path)]
    assert max(map(len, paths)) < 120
