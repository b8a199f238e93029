"""An architecture against itself: a report finds a difference about as rarely as its intervals promise."""

from __future__ import annotations

import json

import numpy as np
import pytest
from conftest import ROOT

from benchmarks import aa

STUDIES = 200


def test_identical_arms_are_rarely_told_apart() -> None:
    rows = aa.committed_rows("architectures")
    generator = np.random.default_rng(7)
    spread = aa.measured_spread([rows], "bleu")
    assert spread == pytest.approx(0.567, abs=0.001)
    counts = aa.committed_counts(rows)
    for seeds in (2, 3):
        wrong = aa.wrong_in_bleu(counts, spread, studies=STUDIES, seeds=seeds, resamples=200, generator=generator)
        assert wrong <= 0.1 * STUDIES
        assert aa.wrong_in_loss(0.0127, studies=STUDIES, seeds=seeds, generator=generator) <= 0.1 * STUDIES


def test_a_difference_that_is_there_is_found() -> None:
    """The simulation would also pass if intervals never excluded zero."""
    generator = np.random.default_rng(7)
    values = generator.normal(0, 1, size=(100, aa.ARMS, 3))
    values[:, 0] += 10
    assert all(aa.excludes_zero(each, 0.0, None) for each in values)


def test_the_full_figure_is_at_most_six_percent() -> None:
    found = json.loads((ROOT / "benchmarks" / "results" / "aa.json").read_text())
    assert found["studies"] == 2000
    assert {(line["measure"], line["seeds"]) for line in found["designs"]} == {
        (key, seeds) for key in ("bleu", "loss") for seeds in aa.SEEDS
    }
    assert max(line["wrong"] for line in found["designs"]) <= 0.06
