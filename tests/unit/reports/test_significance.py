"""Paired tests: sacreBLEU's own with one seed, their generalisation to several, and the table that they make."""

from __future__ import annotations

import json
import subprocess
import sys
from math import comb
from pathlib import Path

import numpy as np
import pytest
from made_runs import REFERENCES, change, make_run, make_unfinished, rows_of, spoilt, write_translations
from sacrebleu.metrics.bleu import BLEU

from triptych.commands.report import main
from triptych.errors import UserError
from triptych.evaluation.bleu_statistics import bleu_statistics, corpus_bleu
from triptych.evaluation.metrics import corpus_scores
from triptych.reports import significance
from triptych.reports.significance import PairedTests, randomized_p
from triptych.reports.tables import MISSING

SIGNATURE = corpus_scores(REFERENCES, REFERENCES)["bleu_signature"]


def counted(*seeds: list[str]) -> np.ndarray:
    return np.stack([bleu_statistics(lines, REFERENCES, SIGNATURE) for lines in seeds])


@pytest.mark.parametrize(
    "lines",
    [
        REFERENCES,
        spoilt(0.3),
        [line[: len(line) // 2] for line in REFERENCES],
        ["the old"] * 30,  # no n-gram of the higher orders at all
        ["the x y z old"] * 30,  # none that matches
        ["nothing at all of it"] * 30,
        [""] * 30,
    ],
    ids=["equal", "spoilt", "short", "two words", "smoothed", "no match", "empty"],
)
def test_corpus_bleu_is_sacrebleus(lines: list[str]) -> None:
    ours = corpus_bleu(bleu_statistics(lines, REFERENCES, SIGNATURE).sum(axis=0))
    assert ours == pytest.approx(BLEU().corpus_score(lines, [REFERENCES]).score, abs=1e-9)


@pytest.mark.parametrize("share", [0.12, 0.2, 0.25])
def test_one_seed_is_sacrebleus_command_line(share: float, tmp_path: Path) -> None:
    base = make_run(tmp_path, "base", lines=spoilt(0.1))
    other = make_run(tmp_path, "other", lines=spoilt(share))
    files = [folder / "translations" / "toy.txt" for folder in (base, other)]
    command = [sys.executable, "-m", "sacrebleu", base / "translations" / "toy.ref.txt", "-i", *files]
    options = ["-m", "bleu", "--paired-ar", "--paired-ar-n", "1000", "-f", "json"]
    theirs = json.loads(subprocess.run([*command, *options], capture_output=True, text=True, check=True).stdout)
    first, second = rows_of(tmp_path)
    found = PairedTests([first, second], "toy").test(second, first)
    assert found is not None
    assert found.p == theirs[1]["BLEU"]["p_value"]
    assert found.bleu == theirs[1]["BLEU"]["score"] - theirs[0]["BLEU"]["score"]
    assert randomized_p(counted(spoilt(0.1)), counted(spoilt(share)), 1000, 1) == pytest.approx(found.p, abs=0.07)


def test_the_seed_of_the_environment_is_sacrebleus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    assert significance.random_seed() == 12345
    for given, seed in (("7", 7), ("none", None), ("0", None)):
        monkeypatch.setenv("SACREBLEU_SEED", given)
        assert significance.random_seed() == seed
    monkeypatch.setenv("SACREBLEU_SEED", "abc")
    with pytest.raises(UserError, match="SACREBLEU_SEED=abc must be a whole number"):
        significance.random_seed()
    make_run(tmp_path, "base")
    with pytest.raises(UserError, match="SACREBLEU_SEED=abc"):
        main([str(tmp_path), "--keep", str(tmp_path / "kept")])
    assert not (tmp_path / "kept").exists()


def test_sentences_that_bleu_counts_alike_prove_nothing(tmp_path: Path) -> None:
    """Many other words, each as wrong as before, and one sentence that is better."""
    wrong = [" ".join(["x", *line.split()[1:]]) for line in REFERENCES]
    other = [" ".join(["y", *line.split()[1:]]) for line in wrong]
    make_run(tmp_path, "base", lines=wrong)
    make_run(tmp_path, "other", lines=[REFERENCES[0], *other[1:]])
    rows = rows_of(tmp_path)
    found = PairedTests(rows, "toy").test(rows[1], rows[0])
    assert found is not None
    assert found.bleu > 0
    assert found.p is None


def test_exchangeable_arms_are_called_different_as_often_as_the_level_says() -> None:
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


def test_seeds_are_no_observations() -> None:
    ours, theirs = counted(spoilt(0.2)), counted(spoilt(0.25))
    once = randomized_p(ours, theirs, 1000, 1)
    assert 0.05 < once < 0.95
    assert randomized_p(ours.repeat(5, axis=0), theirs.repeat(5, axis=0), 1000, 1) == once
    assert randomized_p(ours, ours, 1000, 1) == 1.0


def test_every_arm_against_the_best(tmp_path: Path) -> None:
    worse = [line.replace("house", "car") for line in REFERENCES]
    bad = [line.replace("river", "road") for line in worse]
    even = [line if i % 2 else bad_line for i, (line, bad_line) in enumerate(zip(worse, bad, strict=True))]
    odd = [bad_line if i % 2 else line for i, (line, bad_line) in enumerate(zip(worse, bad, strict=True))]
    one = [bad[0], *even[1:-1], REFERENCES[-1]]
    outputs = {"even": even, "odd": odd, "one": one, "bad": bad}
    for name, lines in outputs.items():
        make_run(tmp_path, name, lines=lines)
    make_run(tmp_path, "silent")
    make_unfinished(tmp_path, "left")
    rows = rows_of(tmp_path)
    found = significance.compare(PairedTests(rows, "toy"), rows, reference=None)
    assert found is not None
    table = found.cells.droplevel(0, axis=1).set_index("model")
    bleus = {name: corpus_scores(lines, REFERENCES)["bleu"] for name, lines in outputs.items()}
    assert list(table.index[:-2]) == sorted(bleus, key=lambda name: -bleus[name])
    assert list(table.index[-2:]) == ["silent", "left (unfinished)"]
    assert list(table.loc["silent"]) == ["30.00", MISSING, MISSING, MISSING]
    assert list(table.loc["left (unfinished)"]) == [MISSING] * 4
    assert table.index[0] == "one"
    assert table.loc["one", "p"] == ""
    assert table.loc["even", "p"] == MISSING, "one sentence differs, which proves nothing"
    assert float(table.loc["odd", "p"]) > 0.1
    assert float(table.loc["bad", "p"]) < 0.01
    assert table.loc["bad", "Δ BLEU"] == f"−{bleus['one'] - bleus['bad']:.2f}"
    assert "Against one, the best arm" in found.notes[0]


def test_every_arm_against_the_reference_in_the_order_of_the_rows(tmp_path: Path) -> None:
    for name, share in (("a", 0.3), ("b", 0.2), ("c", 0.1)):
        make_run(tmp_path, name, lines=spoilt(share))
    make_unfinished(tmp_path, "d")
    rows = rows_of(tmp_path)
    tests = PairedTests(rows, "toy")
    found = significance.compare(tests, rows, reference="b")
    assert found is not None
    table = found.cells.droplevel(0, axis=1).set_index("model")
    assert list(table.index) == ["a", "b", "c", "d (unfinished)"]
    assert [cell[:1] for cell in table["Δ BLEU"]] == ["−", "", "+", MISSING]
    assert "Against b, the reference" in found.notes[0]
    none = significance.compare(tests, rows, reference="d")
    assert none is not None
    assert "Against c, the best arm" in none.notes[0], "the reference has not been run"


def test_several_seeds_are_paired_seed_by_seed(tmp_path: Path) -> None:
    lines = {("a", seed): spoilt(0.1, seed) for seed in (1, 2, 3)} | {
        ("b", seed): spoilt(0.2, seed) for seed in (2, 3, 4)
    }
    for (model, seed), text in lines.items():
        make_run(tmp_path, f"model={model},seed={seed}-0000000{seed}", seed=seed, lines=text)
    rows = rows_of(tmp_path)
    tests = PairedTests(rows, "toy")
    found = tests.test(rows[1], rows[0])
    assert found is not None
    assert found.seeds == (2, 3)
    ours, theirs = ([corpus_scores(lines[model, seed], REFERENCES)["bleu"] for seed in (2, 3)] for model in "ba")
    assert found.bleu == pytest.approx(np.mean(ours) - np.mean(theirs))
    arrays = (counted(*(lines[model, seed] for seed in (2, 3))) for model in "ba")
    assert found.p == randomized_p(*arrays, significance.TRIALS, significance.random_seed())
    table = significance.compare(tests, rows, reference=None)
    assert table is not None
    assert list(table.cells.iloc[1])[-1] == "2, 3"
    assert "exchanged together" in table.notes[1]


def test_arms_of_other_sentences_are_not_tested(tmp_path: Path) -> None:
    make_run(tmp_path, "a", lines=spoilt(0.1))
    write_translations(make_run(tmp_path, "b"), REFERENCES, [f"{line}!" for line in REFERENCES])
    make_run(tmp_path, "c,seed=2-00000002", seed=2, lines=spoilt(0.2))
    rows = rows_of(tmp_path)
    assert significance.compare(PairedTests(rows, "toy"), rows, reference=None) is None


def test_only_an_arm_that_is_ahead_of_all_others_leads(tmp_path: Path) -> None:
    make_run(tmp_path, "a", lines=spoilt(0.02))
    assert PairedTests(rows_of(tmp_path), "toy").leader() is None, "there is no other"
    make_run(tmp_path, "b", lines=spoilt(0.4))
    leader = PairedTests(rows_of(tmp_path), "toy").leader()
    assert leader is not None
    assert leader.label == "a"
    make_run(tmp_path, "c", lines=spoilt(0.03))
    assert PairedTests(rows_of(tmp_path), "toy").leader() is None, "c is as good"
    change(make_run(tmp_path / "more", "d", lines=spoilt(0.4)), "test", "toy", "bleu", to=5.0)
    (tmp_path / "c" / "result.json").unlink()
    (tmp_path / "more" / "d" / "translations" / "toy.txt").unlink()
    assert PairedTests(rows_of(tmp_path), "toy").leader() is None, "d has nothing to test"
