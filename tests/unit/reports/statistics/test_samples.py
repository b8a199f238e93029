"""Resampled sentences, exchanged translations, and seeds alone: against sacreBLEU and SciPy."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from made_runs import REFERENCES, corpus_scores, spoilt
from sacrebleu.metrics.bleu import BLEU
from scipy import stats
from scipy.optimize import brentq

from triptych.evaluation.bleu_statistics import bleu_statistics
from triptych.reports.statistics.dunnett import dunnett
from triptych.reports.statistics.randomization import randomized_p
from triptych.reports.statistics.sentences import bootstrap_bleu, draw_resamples

SIGNATURE = corpus_scores(REFERENCES, REFERENCES)["bleu_signature"]


def counted(*seeds: list[str]) -> np.ndarray:
    return np.stack([bleu_statistics(lines, REFERENCES, SIGNATURE) for lines in seeds])


def test_the_bleu_of_a_resample_is_sacrebleus() -> None:
    outputs = [spoilt(0.2, 1), spoilt(0.3, 2)]
    resampled = draw_resamples(len(REFERENCES), 5, 1)
    found = bootstrap_bleu(counted(*outputs), resampled)
    assert found.shape == (5, 2)
    for times, scores in zip(resampled, found, strict=True):
        chosen = np.repeat(np.arange(len(REFERENCES)), times.astype(int))
        for lines, score in zip(outputs, scores, strict=True):
            theirs = BLEU().corpus_score([lines[i] for i in chosen], [[REFERENCES[i] for i in chosen]]).score
            assert score == pytest.approx(theirs, abs=1e-9)


def test_the_spread_over_resamples_is_scipys() -> None:
    counts = counted(spoilt(0.2, 1))
    found = bootstrap_bleu(counts, draw_resamples(len(REFERENCES), 2000, 1)).std(ddof=1)

    def bleu(chosen: np.ndarray) -> float:
        return float(bootstrap_bleu(counts[:, chosen.astype(int)], np.ones((1, len(chosen))))[0, 0])

    places = (np.arange(len(REFERENCES)),)
    theirs = stats.bootstrap(places, bleu, n_resamples=500, vectorized=False, method="basic", rng=2).standard_error
    assert found == pytest.approx(theirs, rel=0.15)


def test_exchangeable_models_are_called_different_as_often_as_the_level_says() -> None:
    """Two arms that differ by chance alone: halves of two systems, dealt out at random, two seeds a system."""
    one, two = counted(spoilt(0.2, 1), spoilt(0.2, 2)), counted(spoilt(0.3, 3), spoilt(0.3, 4))
    dealt = np.random.default_rng(0).integers(2, size=(200, len(REFERENCES), 1), dtype=bool)
    found = [
        randomized_p(np.where(swap, one, two), np.where(swap, two, one), 500, seed) for seed, swap in enumerate(dealt)
    ]
    rejected = sum(p < 0.05 for p in found)
    chances = [comb(200, k) * 0.05**k * 0.95 ** (200 - k) for k in range(201)]
    assert sum(chances[: rejected + 1]) > 0.001
    assert sum(chances[rejected:]) > 0.001


def test_exchanges_are_those_of_one_large_draw() -> None:
    """Trials are summed by parts; an odd last part counts as any other."""
    ours, theirs = counted(spoilt(0.2)), counted(spoilt(0.25))
    few, many = (randomized_p(ours, theirs, trials, 1) for trials in (1000, 10_500))
    assert few == pytest.approx(many, abs=0.05)
    assert round(many * 10_501, 6) == round(many * 10_501)


def test_seeds_are_no_observations() -> None:
    ours, theirs = counted(spoilt(0.2)), counted(spoilt(0.25))
    once = randomized_p(ours, theirs, 1000, 1)
    assert 0.05 < once < 0.95
    assert randomized_p(ours.repeat(5, axis=0), theirs.repeat(5, axis=0), 1000, 1) == once
    assert randomized_p(ours, ours, 1000, 1) == 1.0


def solved_dunnett_bound(*, arms: int, seeds: int) -> float:
    """Return the critical value of Dunnett's test of equal groups, from the multivariate t distribution."""
    shape = np.full((arms - 1, arms - 1), 0.5) + 0.5 * np.eye(arms - 1)
    law = stats.multivariate_t(shape=shape, df=arms * (seeds - 1), seed=1)

    def beyond(bound: float) -> float:
        limits = np.full(arms - 1, bound)
        return float(law.cdf(limits, lower_limit=-limits, maxpts=200_000) - 0.95)

    return float(brentq(beyond, 1, 10, xtol=1e-3))


def test_dunnetts_test_is_scipys() -> None:
    arms = {"a": [1.0, 2.0, 3.0], "b": [4.0, 6.0, 5.5]}
    control = [1.0, 1.5, 0.5]
    theirs = stats.dunnett(*map(np.array, arms.values()), control=np.array(control), rng=np.random.default_rng(1))
    found = dunnett(arms, control, seed=1)
    assert [result.p for result in found.values()] == pytest.approx(list(theirs.pvalue))
    assert found["b"].estimate == pytest.approx(15.5 / 3 - 1)
    assert found["b"].interval.low < found["b"].estimate < found["b"].interval.high
    assert dunnett({"a": [1.0], "b": [2.0]}, [3.0], seed=1) == {}
    arms = {name: [place, place + 1.0] for place, name in enumerate("abc")}  # SciPy's first attempt does not converge
    widths = [result.interval.high - result.interval.low for result in dunnett(arms, [0.0, 1.0], seed=12345).values()]
    expected = 2 * solved_dunnett_bound(arms=4, seeds=2) * np.sqrt(0.5)
    assert widths == pytest.approx([expected] * 3, rel=0.01)
    assert dunnett({"a": [1.0, 1.0]}, [3.0, 3.0], seed=1) == {}
