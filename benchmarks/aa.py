"""Compare an architecture with itself: how often the interval of a report finds a difference that is not there.

    python -m benchmarks.aa

Nothing is trained. A study is made of the committed translations of one arm: its test set is drawn anew, with
replacement, from the committed one. Each seed of each arm is one of the committed trainings, without what makes it
better or worse than the others on the whole test set; instead it gets an offset of its own, drawn with the standard
deviation that was measured between seeds. So the arms differ in seeds and sentences alone, and every "held" or
"opposite" is wrong.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy import stats

from triptych.evaluation.bleu_statistics import corpus_bleu
from triptych.files import replacing
from triptych.reports.arm_rows import ArmRow, build_rows
from triptych.reports.comparisons import Comparisons, ScoredTexts
from triptych.reports.measures import find_measure
from triptych.reports.reader import find_arms, find_runs
from triptych.reports.statistics.difference import Difference
from triptych.reports.statistics.seeds import pool_seeds, seed_variances
from triptych.reports.statistics.sentences import bootstrap_bleu, draw_resamples

ROOT = Path(__file__).parents[1]
STUDIES = ("architectures", "lm4mt_loss")
"""The committed studies with several seeds."""
ARM, TEST_SET = "transformer", "test_2016_flickr"
ARMS = 5
"""Arms of a study."""
SEEDS = (2, 3, 5)


def committed_rows(study: str) -> list[ArmRow]:
    """Return the arms of a study's committed results on Multi30k."""
    home = ROOT / "experiments" / study / "results" / "multi30k"
    return build_rows(home, find_arms(home), find_runs(home))


def measured_spread(studies: Sequence[Sequence[ArmRow]], key: str) -> float:
    """Return the standard deviation between seeds in one measure, pooled over the arms of several studies."""
    measure, texts = find_measure(key, TEST_SET), {TEST_SET: ScoredTexts(TEST_SET)}
    compared = [(rows, Comparisons(rows, measure, texts, comparisons=1)) for rows in studies]
    pooled = pool_seeds([found.values(row.label) for rows, found in compared for row in rows])
    assert pooled is not None
    return pooled.variance**0.5


def committed_counts(rows: Sequence[ArmRow]) -> np.ndarray:
    """Return the BLEU counts of the committed trainings of ``ARM``, (trainings, sentences, counts)."""
    texts = ScoredTexts(TEST_SET)
    row = next(row for row in rows if row.arm == ARM)
    return np.stack([texts.counts(run) for run in row.finished])


def wrong_in_bleu(
    counts: np.ndarray, spread: float, *, studies: int, seeds: int, resamples: int, generator: np.random.Generator
) -> int:
    """Return in how many studies the interval of a difference in BLEU excludes zero.

    Args:
        counts: ``committed_counts``.
        spread: standard deviation between seeds, in BLEU.
        studies: the number of studies.
        seeds: seeds of each arm.
        resamples: resamples of a study's test set.
        generator: the source of random numbers.
    """
    trainings, sentences, _ = counts.shape
    resampled = draw_resamples(sentences, resamples, 1)
    whole = corpus_bleu(counts.sum(axis=1))
    wrong = 0
    for _ in range(studies):
        drawn = counts[:, generator.integers(sentences, size=sentences)]
        by_sentences = corpus_bleu(drawn.sum(axis=1)) - whole
        chosen = generator.integers(trainings, size=(ARMS, seeds))
        values = by_sentences[chosen] + generator.normal(0, spread, size=(ARMS, seeds))
        bootstrapped = bootstrap_bleu(drawn, resampled)
        means = [bootstrapped[:, chosen[arm]].mean(axis=1) for arm in (0, 1)]
        variance = float(np.var(means[0] - means[1], ddof=1))
        wrong += excludes_zero(values, variance, sentences)
    return wrong


def wrong_in_loss(spread: float, *, studies: int, seeds: int, generator: np.random.Generator) -> int:
    """Return in how many studies the interval of a difference in validation loss excludes zero.

    Its sentences are not stored, so only seeds vary.
    """
    return sum(excludes_zero(generator.normal(0, spread, size=(ARMS, seeds)), 0.0, None) for _ in range(studies))


def excludes_zero(values: np.ndarray, variance: float, sentences: int | None) -> bool:
    """Return whether the interval of the first arm minus the second excludes zero.

    Args:
        values: (arms, seeds).
        variance: variance of the difference between samples of sentences.
        sentences: their number; None if only seeds vary.
    """
    variances = seed_variances({str(arm): of_arm.tolist() for arm, of_arm in enumerate(values)})
    assert variances is not None
    seeds = values.shape[1]
    estimate = float(values[0].mean() - values[1].mean())
    bounds = Difference(estimate, (seeds, seeds), variances.between("0", "1"), variance, sentences).interval
    return bounds.low > 0 or bounds.high < 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.aa", description=__doc__.split("\n")[0])
    parser.add_argument("--studies", type=int, default=2000, help="number of studies of each design")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results" / "aa.json")
    arguments = parser.parse_args()
    committed = [committed_rows(name) for name in STUDIES]
    counts, generator = committed_counts(committed[0]), np.random.default_rng(22)
    spreads = {key: measured_spread(committed, key) for key in ("bleu", "loss")}
    lines = []
    for seeds in SEEDS:
        wrong = {
            "bleu": wrong_in_bleu(
                counts, spreads["bleu"], studies=arguments.studies, seeds=seeds, resamples=1000, generator=generator
            ),
            "loss": wrong_in_loss(spreads["loss"], studies=arguments.studies, seeds=seeds, generator=generator),
        }
        for key, count in wrong.items():
            bounds = stats.binomtest(count, arguments.studies).proportion_ci(method="wilson")
            lines.append({"measure": key, "seeds": seeds, "wrong": count / arguments.studies, "interval": [*bounds]})
            print(f"{key}, {seeds} seeds: {count / arguments.studies:.1%} [{bounds.low:.1%}, {bounds.high:.1%}]")
    found = {"studies": arguments.studies, "arms": ARMS, "spread_of_seeds": spreads, "designs": lines}
    with replacing(arguments.output) as beside:
        beside.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
