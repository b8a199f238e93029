"""Claims that the difference of two arms is larger on one test set than on another, in the table of verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_runs import NODE, REFERENCES, add_arm, corpus_scores, rows_of, scores, spoilt
from scipy import stats

from triptych.errors import UserError
from triptych.evaluation.mean_nats import mean_nats
from triptych.reports.analysis import Analysis
from triptych.reports.comparisons import Comparisons, ScoredTexts
from triptych.reports.measures import find_measure
from triptych.reports.reader import find_arms, find_runs
from triptych.reports.study import find_study

CLAIM = {"claim": "It is worth more in long sentences", "arm": "B1", "expect": "better", "measure": "nats_per_word"}
CLAIM |= {"test_set": "t.x3", "baseline_test_set": "t.x1"}
LONG = find_measure("nats_per_word", "t.x3", baseline="t.x1")


def joined(lines: list[str], number: int) -> list[str]:
    return [" ".join(lines[i : i + number]) for i in range(0, len(lines), number)]


def add_seed(
    root: Path, arm: str, seed: int, growth: float, share: float = 0.2, sets: tuple[int, ...] = (1, 3), **claim: Any
) -> None:
    """A run whose nats of a word are ``growth`` higher in joined sentences, and vary between sentences."""
    noise = np.random.default_rng([seed, len(arm)]).normal(size=len(REFERENCES))
    tests, texts = {}, {}
    for number in sets:
        references, lines = joined(REFERENCES, number), joined(spoilt(share, seed), number)
        of = np.arange(len(REFERENCES)) // number
        words = np.array([len(line.split()) for line in REFERENCES])
        nats = [round(float(x), 4) for x in np.bincount(of, words * (2 + growth * (number > 1)) + noise)]
        tests[f"t.x{number}"] = scores(**corpus_scores(lines, references)) | mean_nats(nats, references)
        texts[f"t.x{number}"] = {".txt": lines, ".ref.txt": references, ".nats.txt": [f"{x:.4f}" for x in nats]}
    run = add_arm(root, 10 * (arm == "B1") + seed, arm, seed, {**NODE, "claims": [{**CLAIM, **claim}]}, tests=tests)
    (run / "translations").mkdir()
    for name, files in texts.items():
        for ending, lines in files.items():
            (run / "translations" / f"{name}{ending}").write_text("".join(f"{line}\n" for line in lines))


def analysed(root: Path) -> Analysis:
    return Analysis(rows_of(root), find_study(root, find_arms(root), find_runs(root)))


def test_the_interaction_of_seeds_is_students_test_of_what_each_seed_grows_by(tmp_path: Path) -> None:
    growth = {"base": [0.30, 0.34, 0.29], "B1": [0.11, 0.10, 0.15]}
    for arm, values in growth.items():
        for seed, value in enumerate(values, start=1):
            add_seed(tmp_path, arm, seed, value)
    rows = rows_of(tmp_path)
    base, arm = rows
    found = Comparisons(rows, LONG, {name: ScoredTexts(name) for name in ("t.x1", "t.x3")}, 1)
    measured = [found.values(row.label) for row in (arm, base)]
    assert [np.round(each, 4).tolist() for each in measured] == [growth["B1"], growth["base"]]
    difference = found.difference(arm, base)
    assert difference is not None
    theirs = stats.ttest_ind(growth["B1"], growth["base"])
    # What a sentence costs is the same in both test sets, so only the growth by word is left, and it does not vary.
    assert difference.sentence_variance == pytest.approx(0, abs=1e-8)
    assert difference.sentences == len(REFERENCES) / 3
    bounds = theirs.confidence_interval()
    assert (difference.interval.low, difference.interval.high) == pytest.approx((bounds.low, bounds.high), abs=1e-4)


def test_a_study_gets_the_verdict_on_an_interaction(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        add_seed(tmp_path, "base", seed, 0.30 + seed / 100)
        add_seed(tmp_path, "B1", seed, 0.10 + seed / 200, share=0.1)
    analysis = analysed(tmp_path)
    table = analysis.verdicts
    assert table is not None
    assert table.lead == ["The verdicts are by negative log-likelihood, t.x3 minus t.x1 (nats a word)."]
    claim, verdict, delta, bleu, detectable = table.cells.iloc[0]
    assert claim == "It is worth more in long sentences (B1 against base)"
    assert verdict == "held"
    assert delta.startswith("−0.210 [−0.2")
    rows = {row.arm: row for row in rows_of(tmp_path)}
    of = {name: rows["B1"].bleu(name) - rows["base"].bleu(name) for name in ("t.x3", "t.x1")}
    assert bleu.startswith(f"{of['t.x3'] - of['t.x1']:+.2f} [".replace("-", "−"))
    assert 0 < float(detectable) < 0.21, "the difference was found"
    assert "Test sets that hold the same text are paired." in table.notes[2]


def test_other_text_counts_as_an_independent_sample(tmp_path: Path) -> None:
    """Then the variances of the two differences are added."""
    for seed in (1, 2):
        for arm in ("base", "B1"):
            add_seed(tmp_path, arm, seed, 0.1 * seed)
    for file in tmp_path.glob("*/translations/t.x1*.txt"):
        if "nats" not in file.name:
            file.write_text(file.read_text().replace("house", "barn"))
    texts = {name: ScoredTexts(name) for name in ("t.x1", "t.x3")}
    rows = rows_of(tmp_path)
    for key in ("nats_per_word", "bleu"):
        parts = [Comparisons(rows, find_measure(key, name), texts, 1).difference(*rows) for name in ("t.x3", "t.x1")]
        both = Comparisons(rows, find_measure(key, "t.x3", baseline="t.x1"), texts, 1).difference(*rows)
        assert both is not None
        assert both.sentence_variance == pytest.approx(sum(one.sentence_variance for one in parts if one))
        assert both.sentences == len(REFERENCES) / 3, "the smaller test set decides the degrees of freedom"


def test_a_test_set_that_is_missing_leaves_the_claim_open(tmp_path: Path) -> None:
    for arm in ("base", "B1"):
        add_seed(tmp_path, arm, 1, 0.1, sets=(3,))
    table = analysed(tmp_path).verdicts
    assert table is not None
    assert table.cells.iloc[0, 1] == "not measured"


@pytest.mark.parametrize("wrong", [{"test_set": "t.x1"}, {"test_set": None}, {"measure": "loss"}, {"measure": None}])
def test_a_baseline_needs_two_test_sets(wrong: dict[str, Any], tmp_path: Path) -> None:
    add_seed(tmp_path, "base", 1, 0.1, **wrong)
    with pytest.raises(UserError, match=r"\(It is worth more in long sentences\) has the baseline_test_set t\.x1"):
        analysed(tmp_path)
