"""The figures of a head, computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from triptych.attention.summaries import MEASURES, summarize

IDENTITY = np.eye(3)
UNIFORM = np.full((3, 3), 1 / 3)
HALVES = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0, 0.5, 0.5]])
"""Each query looks at itself and the one before it, as far as there is one."""


def test_figures_by_hand() -> None:
    found = summarize(np.stack([IDENTITY, UNIFORM, HALVES])[None].astype(np.float32), [2])
    assert set(found) == set(MEASURES)
    expected = {
        "entropy": [0, math.log(3), 2 * math.log(2) / 3],
        "end": [1 / 3, 1 / 3, 0.5 / 3],
        "first": [1 / 3, 1 / 3, 1.5 / 3],
        "diagonal": [1, 1 / 3, 2 / 3],
        "previous": [0, 1 / 3, 0.5],
        "next": [0, 1 / 3, 0],
        "sum": [1, 1, 1],
    }
    for name, values in expected.items():
        assert found[name] == pytest.approx(np.array([values]), abs=1e-6), name


def test_what_a_shape_does_not_have_is_left_out() -> None:
    one = summarize(np.ones((1, 1, 1, 1), np.float32), [])
    assert (one["end"], one["previous"], one["next"]) == (None, None, None)
    wide = summarize(np.array([[0.2, 0.8]], np.float32)[None, None], [])
    assert wide["next"] == pytest.approx(np.array([[0.8]]))
    assert wide["previous"] is None


def test_a_part_of_a_sequence_has_the_entropy_of_its_shares() -> None:
    part = summarize(np.array([[0.2, 0.2], [0.0, 0.0]], np.float32)[None, None], [])
    assert part["entropy"] == pytest.approx(np.array([[math.log(2) / 2]]))
    assert part["sum"] == pytest.approx(np.array([[0.2]]))
