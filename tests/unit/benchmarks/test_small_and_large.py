"""The page of decision accuracy is what its script writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT
from made_runs import change, make_run

from benchmarks import small_and_large
from benchmarks.small_and_large import read_study


def test_the_page_is_what_the_script_writes() -> None:
    made = small_and_large.page(small_and_large.read_studies())
    assert made == (ROOT / "docs" / "small-and-large.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("better", "cells"), [("post", ["1 of 1", "100% [21%, 100%]"]), ("pre", ["0 of 1", "0% [0%, 79%]"])]
)
def test_scales_that_order_two_arms(tmp_path: Path, better: str, cells: list[str]) -> None:
    studies = []
    for scale, best in (("small", "post"), ("large", better)):
        for arm in ("pre", "post"):
            run = make_run(tmp_path / scale, arm, tests={"toy": {"bleu": 31.0 if arm == best else 30.0}})
            change(run, "validation", "loss", to=1.0 if arm == best else 2.0)
        studies.append(read_study("own", tmp_path / scale))
    assert small_and_large.scale_lines(studies) == [["own", "small, large", *cells, *cells]]
    assert f"in {cells[0]} comparisons of two arms (1 study)." in small_and_large.answer(studies)
