"""The variance of a difference of differences, against statsmodels, SciPy, sacreBLEU, and simulated studies."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from made_runs import REFERENCES, corpus_scores, spoilt
from sacrebleu.metrics.bleu import BLEU
from scipy import stats

from triptych.evaluation.bleu_statistics import bleu_statistics
from triptych.reports.statistics import interaction
from triptych.reports.statistics.difference import Difference
from triptych.reports.statistics.interaction import (
    bleu_interaction_variance,
    common_blocks,
    deviations,
    sum_blocks,
    variance_of_sum,
)
from triptych.reports.statistics.seeds import pool_seeds
from triptych.reports.statistics.sentences import draw_resamples


def joined(lines: list[str], number: int) -> list[str]:
    return [" ".join(lines[i : i + number]) for i in range(0, len(lines), number)]


def test_blocks_end_where_sentences_of_both_end() -> None:
    lines = ["a b", "c", "d", "e f", "g", "h"]
    assert [list(of) for of in common_blocks(lines, joined(lines, 4))] == [[0, 0, 0, 0, 1, 1], [0, 1]]
    assert [list(of) for of in common_blocks(joined(lines, 2), joined(lines, 3))] == [[0, 0, 0], [0, 0]]
    assert [list(of) for of in common_blocks(lines, lines)] == [list(range(6))] * 2
    assert common_blocks(lines, lines[::-1]) is None
    assert common_blocks(lines, lines[:5]) is None
    assert common_blocks([], []) is None


@given(st.lists(st.sampled_from(["", "a", "b c"]), min_size=1, max_size=15), st.data())
def test_every_block_has_the_same_words_in_both_cuts(lines: list[str], data: st.DataObject) -> None:
    cuts = []
    for _ in range(2):
        ends = sorted(data.draw(st.sets(st.integers(1, len(lines)))) | {len(lines)})
        cuts.append([" ".join(filter(None, lines[a:b])) for a, b in pairwise([0, *ends])])
    found = common_blocks(*cuts)
    if not any(lines):
        assert found is None
        return
    assert found is not None
    words = [sum_blocks(np.array([[len(x.split()), 1] for x in cut]), of) for cut, of in zip(cuts, found, strict=True)]
    assert words[0][:, 0].tolist() == words[1][:, 0].tolist()
    assert min(words[0][:, 1].min(), words[1][:, 1].min()) >= 1, "no block without a sentence"


def test_the_variance_of_a_mean_is_that_of_a_paired_t_test() -> None:
    ours, theirs = np.random.default_rng(0).normal(size=(2, 50))
    variance = variance_of_sum(deviations(ours, theirs, np.ones(50)))
    assert (ours - theirs).mean() / variance**0.5 == pytest.approx(stats.ttest_rel(ours, theirs).statistic)
    assert variance_of_sum(np.zeros(1)) == 0


def test_the_variance_of_a_ratio_is_that_of_statsmodels_weighted_regression() -> None:
    """Σd/Σw is the slope of d over w with weights 1/w, and its linearised variance the robust one (HC1)."""
    generator = np.random.default_rng(1)
    words = generator.integers(5, 60, size=80).astype(float)
    ours, theirs = words * 2.5 + generator.normal(0, words**0.5), words * 2.2 + generator.normal(0, words**0.5)
    theirs_fit = sm.WLS(ours - theirs, words, weights=1 / words).fit(cov_type="HC1")
    assert variance_of_sum(deviations(ours, theirs, words)) == pytest.approx(float(theirs_fit.bse[0]) ** 2)


def test_an_interaction_over_blocks_is_a_regression_on_the_differences_of_blocks() -> None:
    generator = np.random.default_rng(2)
    lines = ["w " * n + str(i) for i, n in enumerate(generator.integers(3, 20, size=40))]
    sets = [lines, joined(lines, 4)]
    blocks = common_blocks(*sets)
    assert blocks is not None
    words = [np.array([len(line.split()) for line in lines], float) for lines in sets]
    nats = [[2 * w + generator.normal(0, w**0.5) for _ in range(2)] for w in words]
    terms = [
        sum_blocks(deviations(ours, theirs, w), of) for (ours, theirs), w, of in zip(nats, words, blocks, strict=True)
    ]
    differences = [
        np.array([(ours - theirs)[of == b].sum() for b in range(10)])
        for (ours, theirs), of in zip(nats, blocks, strict=True)
    ]
    size = np.array([words[1][b] for b in range(10)])
    fit = sm.WLS(differences[1] - differences[0], size, weights=1 / size).fit(cov_type="HC1")
    assert variance_of_sum(terms[1] - terms[0]) == pytest.approx(float(fit.bse[0]) ** 2)


def test_an_interaction_in_bleu_is_a_bootstrap_of_sacrebleus_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interaction, "RESAMPLES", 6)
    outputs = {"ours": [spoilt(0.1, 1), spoilt(0.1, 2)], "theirs": [spoilt(0.3, 3), spoilt(0.35, 4)]}
    signature = corpus_scores(REFERENCES, REFERENCES)["bleu_signature"]
    numbers = (3, 1)
    blocks = dict(zip(numbers, common_blocks(*(joined(REFERENCES, n) for n in numbers)) or (), strict=True))
    counts = {
        n: [
            np.stack(
                [
                    sum_blocks(bleu_statistics(joined(one, n), joined(REFERENCES, n), signature), blocks[n])
                    for one in seeds
                ]
            )
            for seeds in outputs.values()
        ]
        for n in numbers
    }
    found = bleu_interaction_variance(counts[3], counts[1], seed=5)

    def bleu(lines: list[str], n: int, times: np.ndarray) -> float:
        chosen = np.repeat(np.arange(10), times.astype(int))
        pick = [(joined(lines, n)[i], joined(REFERENCES, n)[i]) for b in chosen for i in np.flatnonzero(blocks[n] == b)]
        hypotheses, references = map(list, zip(*pick, strict=True))
        return float(BLEU().corpus_score(hypotheses, [references]).score)

    drawn = []
    for times in draw_resamples(10, 6, 5):
        (ours, our_base), (theirs, their_base) = (
            [np.mean([bleu(one, n, times) for one in seeds]) for n in numbers] for seeds in outputs.values()
        )
        drawn.append((ours - theirs) - (our_base - their_base))
    assert found == pytest.approx(np.var(drawn, ddof=1))


class SimulatedStudy:
    """Two arms on captions one by one and four by four, in nats a word.

    What a caption costs an arm is drawn once and is in both test sets. Joining captions costs each block something
    more, another amount for each arm, and each training has an offset of its own on each test set.
    """

    TRUE = 0.3
    CAPTIONS, ARMS, SEEDS = 120, 4, 3

    def __init__(self, generator: np.random.Generator) -> None:
        words = generator.integers(8, 20, size=self.CAPTIONS).astype(float)
        own = generator.normal(0, 3.0, size=(self.ARMS, self.CAPTIONS))
        more = generator.normal(0, 2.0, size=(self.ARMS, self.CAPTIONS // 4))
        more[0] += self.TRUE * words.reshape(-1, 4).sum(axis=1)
        offsets = generator.normal(0, 0.05, size=(2, self.ARMS, self.SEEDS))
        by_four = own.reshape(self.ARMS, -1, 4).sum(axis=2) + more
        self.words = words, words.reshape(-1, 4).sum(axis=1)
        self.nats = [
            values[:, None] + offset[:, :, None] * size
            for values, offset, size in zip((own, by_four), offsets, self.words, strict=True)
        ]
        self.blocks = np.repeat(np.arange(self.CAPTIONS // 4), 4), np.arange(self.CAPTIONS // 4)

    def difference(self) -> Difference:
        one, four = (nats.sum(axis=2) / size.sum() for nats, size in zip(self.nats, self.words, strict=True))
        growth = four - one
        seeds = pool_seeds(list(growth))
        assert seeds is not None
        terms = [
            sum_blocks(deviations(nats[0].mean(axis=0), nats[1].mean(axis=0), size), of)
            for nats, size, of in zip(self.nats, self.words, self.blocks, strict=True)
        ]
        variance = variance_of_sum(terms[1] - terms[0])
        estimate = float(growth[0].mean() - growth[1].mean())
        return Difference(estimate, (self.SEEDS, self.SEEDS), (seeds,), variance, len(terms[0]))


def test_intervals_of_simulated_studies_cover_the_truth() -> None:
    """95% of them should. Seeds are counted a little in both variances, so a few more may; 600 studies have ±0.9%."""
    generator = np.random.default_rng(3)
    found = [SimulatedStudy(generator).difference() for _ in range(600)]
    covered = [each.interval.low <= SimulatedStudy.TRUE <= each.interval.high for each in found]
    assert 0.93 <= np.mean(covered) <= 0.985
    assert np.mean([each.interval.low > 0 for each in found]) > 0.5, "a wide interval would also cover"
    spread = np.var([each.estimate for each in found])
    assert np.mean([each.standard_error**2 for each in found]) == pytest.approx(spread, rel=0.2)
