"""Differences of arms in a report: intervals where seeds allow, verdicts on claims, and the leader in bold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_runs import NODE, REFERENCES, add_arm, change, make_run, make_unfinished, rows_of, spoilt, write_translations
from scipy import stats

from triptych.commands.report import main
from triptych.errors import UserError
from triptych.reports.analysis import Analysis
from triptych.reports.arm_rows import runs_of
from triptych.reports.build import report
from triptych.reports.comparisons import Comparisons, ScoredTexts
from triptych.reports.measures import find_measure, primary_measure
from triptych.reports.reader import find_arms, find_runs
from triptych.reports.stored_run import StoredRun, TranslatedText
from triptych.reports.study import Study, find_study, present_node
from triptych.reports.study_page import write_tables
from triptych.reports.table import MISSING, Table

NO_STUDY = Study(None, None, frozenset(), ())
BLEU = find_measure("bleu", "toy")
CLAIMS = [
    {"claim": "Small keys hurt", "arm": "B1", "expect": "worse"},
    {"claim": "Small keys help", "arm": "B1", "expect": "better", "measure": "loss"},
    {"claim": "One head is as good", "arm": "A1", "reference": "B1", "expect": "equal"},
]


def study_of(root: Path) -> Study:
    return find_study(root, find_arms(root), find_runs(root))


def analysed(root: Path, study: Study | None = None) -> Analysis:
    return Analysis(rows_of(root), study or study_of(root))


def by_label(table: Table) -> pd.DataFrame:
    return table.cells.droplevel(0, axis=1).set_index(table.cells.columns[0][1])


def make_seeds(root: Path, name: str, losses: Sequence[float], share: float = 0.2) -> None:
    for seed, loss in enumerate(losses, start=1):
        run = make_run(root, f"model={name},seed={seed}-0000000{seed}", seed=seed, lines=spoilt(share, seed))
        change(run, "validation", "loss", to=loss)


def test_with_seeds_every_arm_has_an_interval_and_a_verdict(tmp_path: Path) -> None:
    make_seeds(tmp_path, "a", [1.50, 1.51, 1.49])
    make_seeds(tmp_path, "b", [1.40, 1.41, 1.39])
    make_seeds(tmp_path, "c", [1.51, 1.50, 1.50])
    make_unfinished(tmp_path, "model=d")
    study = Study("own", "a", frozenset(), ())
    loss, bleu = analysed(tmp_path, study).differences
    assert loss.title == "Differences, validation loss"
    table = by_label(loss)
    assert list(table.index) == ["a", "b", "c", "d (unfinished)"]
    # Pooled: squares 2e-4 + 2e-4 + 6.7e-5 over 6 degrees of freedom; t at 1 - 0.05/2/2 is 2.969.
    half = 2.9687 * np.sqrt((4e-4 + 2e-4 / 3) / 6 * 2 / 3)
    assert table.loc["b", "Δ [95% interval]"] == f"−0.100 [−{0.1 + half:.3f}, −{0.1 - half:.3f}]"
    assert table.loc["b", "verdict"] == "better", "a lower loss is better"
    assert table.loc["c", "verdict"].startswith(("equivalent", "inconclusive: would need about"))
    assert list(table.loc["a"])[1:] == ["", "", "3"]
    assert list(table.loc["d (unfinished)"]) == [MISSING] * 4
    assert "all 2 differences together (Bonferroni)" in loss.notes[1]
    assert loss.notes[2].startswith("Smallest true difference that this design finds with a probability of 80%: 0.0")
    assert bleu.title == "Differences, BLEU, toy"
    assert "sentences (paired) and seeds" in bleu.notes[1]


def test_the_interval_of_bleu_has_sentences_and_seeds(tmp_path: Path) -> None:
    make_seeds(tmp_path, "a", [1.5, 1.5], share=0.1)
    make_seeds(tmp_path, "b", [1.5, 1.5], share=0.3)
    found = analysed(tmp_path, NO_STUDY).compared(find_measure("bleu", "toy"))
    one, other = rows_of(tmp_path)
    difference = found.difference(one, other)
    assert difference is not None
    assert difference.sentences == len(REFERENCES)
    assert 0 < difference.sentence_variance < 100
    assert difference.estimate == pytest.approx(one.bleu("toy") - other.bleu("toy"))
    again = analysed(tmp_path, NO_STUDY).compared(find_measure("bleu", "toy")).difference(one, other)
    assert again == difference, "the same sentences are drawn each time"


def test_with_one_seed_there_is_neither_interval_nor_verdict(tmp_path: Path) -> None:
    make_run(tmp_path, "a", lines=spoilt(0.02))
    make_run(tmp_path, "b", lines=spoilt(0.4))
    found = analysed(tmp_path, NO_STUDY)
    assert not found.has_seeds
    assert found.leader(BLEU) is None
    bleu = found.differences[-1]
    line = by_label(bleu).loc["b"]
    assert line["verdict"] == "inconclusive: one seed"
    assert "[" not in line["Δ"]
    assert "there is no interval" in bleu.notes[1]
    assert found.of_seeds == []


def test_with_seeds_tests_of_models_stand_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_seeds(tmp_path, "a", [1.50, 1.51])
    make_seeds(tmp_path, "b", [1.40, 1.41])
    apart = ("These trained models, toy", "Dunnett's test, validation loss", "Dunnett's test, BLEU, toy")
    main([str(tmp_path)])
    printed = capsys.readouterr().out
    main([str(tmp_path), "--all"])
    everything = capsys.readouterr().out
    for title in apart:
        assert title not in printed
        assert title in everything
        assert f"## {title}" in (tmp_path / "report.md").read_text()


def test_only_an_arm_that_is_ahead_of_all_others_leads(tmp_path: Path) -> None:
    make_seeds(tmp_path, "a", [1.5, 1.5, 1.5], share=0.02)
    assert analysed(tmp_path, NO_STUDY).leader(BLEU) is None, "there is no other"
    make_seeds(tmp_path, "b", [1.5, 1.5, 1.5], share=0.6)
    leader = analysed(tmp_path, NO_STUDY).leader(BLEU)
    assert leader is not None
    assert leader.arm == "a"
    make_seeds(tmp_path, "c", [1.5, 1.5, 1.5], share=0.021)
    assert analysed(tmp_path, NO_STUDY).leader(BLEU) is None, "c is as good"


def test_the_best_is_bold_where_its_intervals_say_so(tmp_path: Path) -> None:
    make_seeds(tmp_path, "a", [1.5, 1.5, 1.5], share=0.02)
    make_seeds(tmp_path, "b", [1.5, 1.5, 1.5], share=0.6)
    main([str(tmp_path)])
    text = (tmp_path / "report.md").read_text()
    assert f"| **{rows_of(tmp_path)[0].bleu('toy'):.2f} ± " in text
    assert "Bold: best of its column" in text


def test_arms_of_other_sentences_are_not_compared_in_bleu(tmp_path: Path) -> None:
    make_run(tmp_path, "a", lines=spoilt(0.1))
    write_translations(make_run(tmp_path, "b"), REFERENCES, [f"{line}!" for line in REFERENCES])
    assert [table.title for table in analysed(tmp_path, NO_STUDY).differences] == ["Differences, validation loss"]


def test_without_a_reference_the_best_arm_is_compared_with(tmp_path: Path) -> None:
    for name, share in (("a", 0.3), ("b", 0.1), ("c", 0.2)):
        make_run(tmp_path, name, lines=spoilt(share))
    bleu = analysed(tmp_path, NO_STUDY).differences[-1]
    assert list(by_label(bleu).index) == ["b", "c", "a"]
    assert "Against b, the best arm" in bleu.notes[0]
    missing = analysed(tmp_path, Study("own", "d", frozenset(), ())).differences[-1]
    assert "The study's reference, d, is not among these arms." in missing.notes


def test_a_study_is_decided_by_likelihood(tmp_path: Path) -> None:
    run = make_run(tmp_path, "a", lines=spoilt(0.1))
    other = make_run(tmp_path, "b", lines=spoilt(0.1))
    runs = runs_of(rows_of(tmp_path))
    assert primary_measure(runs, "nats", None) == find_measure("loss", "toy")
    chosen = primary_measure(runs, "bleu", 0.5)
    assert chosen is not None
    assert (chosen.key, chosen.margin) == ("bleu", 0.5)
    change(other, "tokenizer", "fingerprint", to="another")
    found = primary_measure(runs_of(rows_of(tmp_path)), "nats", None)
    assert found == find_measure("bleu", "toy"), "losses a token of two tokenizers cannot be compared"
    change(run, "test", "toy", "nats_per_sentence", to=20.5)
    assert primary_measure(runs_of(rows_of(tmp_path)), "nats", None) == find_measure("bleu", "toy"), "one lacks it"
    change(other, "test", "toy", "nats_per_sentence", to=20.5)
    found = primary_measure(runs_of(rows_of(tmp_path)), "nats", 0.2)
    assert found == find_measure("nats_per_sentence", "toy", 0.2)


def add_seeds(root: Path, arm: str, losses: Sequence[float], **node: object) -> None:
    for seed, loss in enumerate(losses, start=1):
        place = len(list((root / "arms").glob("*"))) if (root / "arms").exists() else 0
        run = add_arm(root, place, arm, seed, node={**NODE, **node}, lines=spoilt(0.2, seed))
        change(run, "validation", "loss", to=loss)


def test_claims_are_judged_by_the_intervals(tmp_path: Path) -> None:
    for arm, losses in (("base", [1.50, 1.51, 1.49]), ("B1", [1.70, 1.71, 1.69])):
        add_seeds(tmp_path, arm, losses, claims=CLAIMS)
    table = analysed(tmp_path).verdicts
    assert table is not None
    lines = by_label(table)
    assert list(lines.index) == [
        "Small keys hurt (B1 against base)",
        "Small keys help (B1 against base)",
        "One head is as good (A1 against B1)",
    ]
    assert list(lines["verdict"]) == ["held", "opposite", "not run"]
    assert table.lead[0] == "The verdicts are by validation loss (nats a token)."
    assert lines.iloc[0]["Δ [95% interval]"].startswith("+0.200 [+0.1")
    assert lines.iloc[0]["Δ BLEU [95% interval]"].startswith("+0.00 [−")
    main([str(tmp_path)])
    assert "## Verdicts" in (tmp_path / "report.md").read_text()


def test_claims_on_arms_that_were_not_run_have_no_table(tmp_path: Path) -> None:
    add_seeds(tmp_path, "base", [1.50, 1.51, 1.49], claims=CLAIMS)
    assert analysed(tmp_path).verdicts is None


def test_claims_of_one_seed_have_no_verdict(tmp_path: Path) -> None:
    for arm, loss in (("base", 1.5), ("B1", 1.7)):
        add_seeds(tmp_path, arm, [loss], claims=CLAIMS)
    table = analysed(tmp_path).verdicts
    assert table is not None
    assert list(by_label(table)["verdict"])[:2] == ["inconclusive: one seed"] * 2
    assert by_label(table).iloc[0]["Δ"] == "+0.200"


def test_runs_of_before_claims_have_those_of_the_studys_file(tmp_path: Path) -> None:
    add_seeds(tmp_path, "base", [1.5])
    assert "(E) Learned positions are nearly as good as sinusoids" in {
        claim.claim for claim in study_of(tmp_path).claims
    }
    add_seeds(tmp_path / "other", "base", [1.5], claims=[])
    assert study_of(tmp_path / "other").claims == ()
    kept = tmp_path / "experiments" / "table3" / "results" / "toy"
    add_seeds(kept, "base", [1.5], claims=[])
    assert len(study_of(kept).claims) > 10
    assert study_of(kept).claims_are_younger
    assert study_of(kept).deviations == tuple(present_node("table3")["deviations"])


def test_a_wrong_claim_is_refused(tmp_path: Path) -> None:
    add_seeds(tmp_path / "a", "base", [1.5], claims=[{**CLAIMS[0], "expect": "more"}])
    with pytest.raises(
        UserError, match=r"study\.claims \(Small keys hurt\)\.expect=more is unknown; choose one of better"
    ):
        study_of(tmp_path / "a")
    add_seeds(tmp_path / "b", "base", [1.5], reference=None, claims=[CLAIMS[0]])
    with pytest.raises(UserError, match=r"study\.claims \(Small keys hurt\) has no arm to compare with"):
        study_of(tmp_path / "b")


def test_a_studys_page_has_the_verdicts_of_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triptych.reports.study.present_node", lambda name: {})
    home = tmp_path / "experiments" / "table3" / "results" / "toy"
    for arm, losses in (("base", [1.50, 1.51, 1.49]), ("B1", [1.70, 1.71, 1.69])):
        add_seeds(home, arm, losses, claims=CLAIMS)
    page = home.parents[1] / "README.md"
    page.write_text("# Page\n")
    made = report(home)
    verdicts = made.analysis.verdicts
    write_tables(home, {"verdicts": verdicts})
    assert page.read_text() == "# Page\n", "without marks a page stays as it is"
    begin, end = "<!-- verdicts toy: written by triptych report -->", "<!-- end of verdicts toy -->"
    page.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
    made.write()
    text = page.read_text()
    assert text.startswith(
        f"before\n{begin}\n\nThe verdicts are by validation loss (nats a token).\n\n| claim | verdict |"
    )
    assert "| Small keys hurt (B1 against base) | held | +0.200 " in text
    assert "old" not in text
    assert text.endswith(f"\n\n{end}\nafter\n")
    write_tables(home, {"verdicts": verdicts})
    assert page.read_text() == text
    page.write_text(f"{begin}\n")
    with pytest.raises(UserError, match="must have the two lines"):
        write_tables(home, {"verdicts": verdicts})


class WithNats(ScoredTexts):
    """Texts with a log-likelihood of each reference: as many nats as the run's mean, and noise of its own."""

    def text(self, run: StoredRun) -> TranslatedText:
        noise = np.random.default_rng(run.seed).normal(size=len(REFERENCES))
        nats = run.tests["toy"]["nats_per_sentence"] + noise - noise.mean()
        return TranslatedText(REFERENCES, REFERENCES, None, {"nats": list(nats)})


def test_the_interval_of_likelihood_has_sentences_and_seeds(tmp_path: Path) -> None:
    for name, means in (("a", (20.0, 21.0)), ("b", (24.0, 25.5))):
        for seed, mean in enumerate(means, start=1 if name == "a" else 3):
            run = make_run(tmp_path, f"model={name},seed={seed}-0000000{seed}", seed=seed)
            change(run, "test", "toy", "nats_per_sentence", to=mean)
    rows = rows_of(tmp_path)
    measure, texts = find_measure("nats_per_sentence", "toy"), WithNats("toy")
    found = Comparisons(rows, measure, {"toy": texts}, 1).difference(rows[0], rows[1])
    assert found is not None
    values = [np.mean([texts.text(run).scores["nats"] for run in row.runs], axis=0) for row in rows]
    assert found.estimate == pytest.approx(-4.25)
    assert found.sentence_variance == pytest.approx(stats.sem(values[0] - values[1]) ** 2)
    assert found.sentences == len(REFERENCES)
    without = Comparisons(rows, measure, {"toy": ScoredTexts("toy")}, 1)
    assert without.difference(rows[0], rows[1]) is None, "the references are not there"
