"""The variance between seeds: pooled, of each arm, and whether arms differ in it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from triptych.reports.statistics.seeds import SeedVariance, pool_seeds, seed_variances, variances_differ


def test_the_variance_is_pooled_over_arms_with_two() -> None:
    seeds = pool_seeds([[1.0, 3.0], [7.0], [], [2.0, 2.0, 5.0]])
    # Squares around the means: 1 + 1, and 1 + 1 + 4, over 1 + 2 degrees of freedom.
    assert seeds == SeedVariance(pytest.approx(8 / 3), 3, 2)
    assert pool_seeds([[1.0], [2.0]]) is None
    assert seed_variances({"a": [1.0], "b": [2.0]}) is None


def test_arms_of_the_same_trainings_count_once() -> None:
    arms = {"a": [1.0, 3.0], "b": [2.0, 6.0], "c": [5.0, 7.0]}
    found = seed_variances(arms, {"a": "one", "b": "one", "c": "other"})
    assert found is not None
    # Squares of the first two: 2 and 8, whose mean is 5; 2 of the third; one degree for each training pair.
    assert (found.pooled.variance, found.pooled.degrees, found.pooled.arms) == (3.5, 2, 2)
    separate = seed_variances(arms)
    assert separate is not None
    assert separate.pooled == pool_seeds(arms.values())


@pytest.mark.parametrize("seed", range(6))
def test_bartletts_test_is_scipys(seed: int) -> None:
    generator = np.random.default_rng(seed)
    arms = [generator.normal(0, spread, size) for spread, size in zip((1, 1 + seed, 2), (3, 5, 4), strict=True)]
    found = [SeedVariance(float(np.var(arm, ddof=1)), len(arm) - 1, 1) for arm in arms]
    assert variances_differ(found) == (stats.bartlett(*arms).pvalue < 0.05)


def test_arms_that_differ_have_their_own_variances() -> None:
    alike = {"a": [1.0, 2.0, 3.0], "b": [4.0, 6.0, 5.5], "c": [7.0]}
    found = seed_variances(alike)
    assert found is not None
    assert found.between("a", "c") == (found.pooled,)
    unlike = seed_variances(alike | {"b": [4.0, 99.0, -80.0]})
    assert unlike is not None
    assert unlike.between("a", "b") == (SeedVariance(1.0, 2, 1), unlike.own["b"])
    assert unlike.between("a", "c") == (SeedVariance(1.0, 2, 1), unlike.pooled), "c was trained once"


def test_arms_whose_seeds_agree_exactly_tell_nothing_of_the_variance() -> None:
    found = seed_variances({"a": [0.0, 0.0, 0.0], "b": [1.0, 2.0, 3.0], "c": [1.0, 2.0, 99.0]})
    assert found is not None
    assert found.unequal
    assert found.between("a", "b") == (found.pooled, SeedVariance(1.0, 2, 1))
    alike = seed_variances({"a": [0.0, 0.0, 0.0], "b": [1.0, 2.0, 3.0]})
    assert alike is not None
    assert not alike.unequal
    assert alike.between("a", "b") == (SeedVariance(1.0, 2, 1),)


def test_two_seeds_are_too_few_to_tell_variances_apart() -> None:
    found = seed_variances({"a": [1.0, 1.0001], "b": [1.0, 99.0], "c": [1.0, 2.0, 3.0]})
    assert found is not None
    assert not found.unequal
