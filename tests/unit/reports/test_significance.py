"""Tests of trained models: sacreBLEU's with one seed, their generalisation to several, and the table that they make."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from made_runs import REFERENCES, corpus_scores, make_run, make_unfinished, rows_of, spoilt, write_translations
from sacrebleu.metrics.bleu import BLEU

from triptych.commands.report import main
from triptych.errors import UserError
from triptych.evaluation.bleu_statistics import bleu_statistics, corpus_bleu
from triptych.reports.comparisons import ScoredTexts
from triptych.reports.significance import PairedTests, compare_models
from triptych.reports.statistics.randomization import TRIALS, random_seed, randomized_p
from triptych.reports.table import MISSING

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
    options = ["-m", "bleu", "--paired-ar", "--paired-ar-n", "3000", "-f", "json"]
    theirs = json.loads(subprocess.run([*command, *options], capture_output=True, text=True, check=True).stdout)
    first, second = rows_of(tmp_path)
    found = PairedTests(ScoredTexts("toy")).test(second, first)
    assert found is not None
    assert found.p == pytest.approx(theirs[1]["BLEU"]["p_value"], abs=0.04)
    assert found.bleu == theirs[1]["BLEU"]["score"] - theirs[0]["BLEU"]["score"]


def test_the_seed_of_the_environment_is_sacrebleus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    assert random_seed() == 12345
    for given, seed in (("7", 7), ("none", None), ("0", None)):
        monkeypatch.setenv("SACREBLEU_SEED", given)
        assert random_seed() == seed
    monkeypatch.setenv("SACREBLEU_SEED", "abc")
    with pytest.raises(UserError, match="SACREBLEU_SEED=abc must be a whole number"):
        random_seed()
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
    found = PairedTests(ScoredTexts("toy")).test(rows[1], rows[0])
    assert found is not None
    assert found.bleu > 0
    assert found.p is None


def test_every_model_against_another(tmp_path: Path) -> None:
    for name, share in (("a", 0.3), ("b", 0.2), ("c", 0.2)):
        make_run(tmp_path, name, lines=spoilt(share, 1 if name == "c" else 0))
    make_unfinished(tmp_path, "d")
    rows = rows_of(tmp_path)
    found = compare_models(rows, rows[1], ScoredTexts("toy"))
    assert found is not None
    assert found.title == "These trained models, toy"
    table = found.cells.droplevel(0, axis=1).set_index("arm")
    assert list(table.index) == ["a", "b", "c", "d (unfinished)"]
    assert list(table.loc["b"]) == ["", "", ""]
    assert float(table.loc["a", "p"]) < 0.01 < float(table.loc["c", "p"])
    assert list(table.loc["d (unfinished)"]) == [MISSING] * 3
    assert "against those of b" in found.notes[0]
    assert "10,000 trials" in found.notes[0]
    assert "says nothing of the architectures" in found.notes[1]


def test_several_seeds_are_paired_seed_by_seed(tmp_path: Path) -> None:
    lines = {("a", seed): spoilt(0.1, seed) for seed in (1, 2, 3)} | {
        ("b", seed): spoilt(0.2, seed) for seed in (2, 3, 4)
    }
    for (model, seed), text in lines.items():
        make_run(tmp_path, f"model={model},seed={seed}-0000000{seed}", seed=seed, lines=text)
    rows = rows_of(tmp_path)
    texts = ScoredTexts("toy")
    found = PairedTests(texts).test(rows[1], rows[0])
    assert found is not None
    assert found.seeds == (2, 3)
    ours, theirs = ([corpus_scores(lines[model, seed], REFERENCES)["bleu"] for seed in (2, 3)] for model in "ba")
    assert found.bleu == pytest.approx(np.mean(ours) - np.mean(theirs))
    arrays = (counted(*(lines[model, seed] for seed in (2, 3))) for model in "ba")
    assert found.p == randomized_p(*arrays, TRIALS, random_seed())
    table = compare_models(rows, rows[0], texts)
    assert table is not None
    assert list(table.cells.iloc[1])[-1] == "2, 3"
    assert "exchanged together" in table.notes[0]


def test_models_of_other_sentences_are_not_tested(tmp_path: Path) -> None:
    make_run(tmp_path, "a", lines=spoilt(0.1))
    write_translations(make_run(tmp_path, "b"), REFERENCES, [f"{line}!" for line in REFERENCES])
    make_run(tmp_path, "c,seed=2-00000002", seed=2, lines=spoilt(0.2))
    rows = rows_of(tmp_path)
    assert compare_models(rows, rows[0], ScoredTexts("toy")) is None
