"""The first table of a report, and the sentences below it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from made_runs import NODE, REFERENCES, add_arm, change, make_run, make_unfinished, rows_of, scores, spoilt

from triptych.reports.build import report
from triptych.reports.labels import shorten_keys
from triptych.reports.report import Report

INTERVAL = "[95% interval]"


def add_seeds(root: Path, name: str, losses: Sequence[float], share: float = 0.2) -> None:
    for seed, loss in enumerate(losses, start=1):
        run = make_run(root, f"model={name},seed={seed}-0000000{seed}", seed=seed, lines=spoilt(share, seed))
        change(run, "validation", "loss", to=loss)


def header(made: Report) -> list[str]:
    return [" ".join(filter(None, column)) for column in made.main_tables[0].cells.columns]


def lines(made: Report) -> dict[str, list[str]]:
    return {label: cells for label, *cells in made.main_tables[0].cells.values.tolist()}


def test_a_study_of_seeds(tmp_path: Path) -> None:
    for arm, losses in (("base", [1.50, 1.51, 1.49]), ("B1", [1.70, 1.71, 1.69])):
        for seed, loss in enumerate(losses, start=1):
            place = 10 * (arm == "B1") + seed
            run = add_arm(tmp_path, place, arm, seed, node=NODE, lines=spoilt(0.2 if arm == "base" else 0.3, seed))
            change(run, "validation", "loss", to=loss)
    made = report(tmp_path)
    assert header(made) == [
        "arm", "params (M)", "validation loss", "BLEU", f"Δ validation loss {INTERVAL}", "published Δ BLEU"
    ]  # fmt: skip
    base, other = lines(made)["base"], lines(made)["B1"]
    assert base[:2] == ["2.00", "1.500 ± 0.010"]
    assert base[3:] == ["reference", ""]
    assert other[:2] == ["2.00", "1.700 ± 0.010"]
    assert other[3].startswith("+0.200 [+0.1")
    assert other[4] == "−0.7", "25.1 in Vaswani's table 3, whose base has 25.8"
    assert made.main_tables[0].lead == [
        "Lowest validation loss: base, 0.200 nats a token below B1; ahead of every other arm (all 95% intervals "
        "exclude zero). Highest BLEU, toy: base; ahead of every other arm (all 95% intervals exclude zero)."
    ]
    notes = made.main_tables[0].all_notes
    assert any(
        note.startswith(
            "Δ is the difference from base, the reference, in nats a token (lower is better), before rounding. "
            "Intervals: 95%, over seeds"
        )
        for note in notes
    )
    assert any("Validation loss (nats a token) decides instead." in note for note in notes)
    assert any(
        note.startswith("Published Δ, in another set-up than ours: from base, in BLEU (newstest2013 en-de) (Vaswani")
        for note in notes
    )
    assert made.main_tables[0].best == {(0, 2), (0, 3)}


def test_what_may_be_as_good_is_named(tmp_path: Path) -> None:
    add_seeds(tmp_path, "a", [1.50, 1.60])
    add_seeds(tmp_path, "b", [1.51, 1.61])
    add_seeds(tmp_path, "c", [9.00, 9.10])
    (headline,) = report(tmp_path).main_tables[0].lead
    assert headline.startswith(
        "Lowest validation loss: a, 0.010 nats a token below b; corrected for all pairs of arms, not distinguishable "
        "from b. Highest BLEU"
    )


def test_one_seed_has_a_difference_and_no_interval(tmp_path: Path) -> None:
    make_run(tmp_path, "a", lines=spoilt(0.1))
    change(make_run(tmp_path, "b", lines=spoilt(0.4)), "validation", "loss", to=1.6)
    made = report(tmp_path)
    assert header(made)[-1] == "Δ validation loss"
    assert lines(made)["b"][-1] == "+0.100"
    assert lines(made)["a"][-1] == "", "it is what the other is compared with"
    assert (
        made.main_tables[0]
        .lead[0]
        .startswith(
            "No arm can be called the best: each was trained once, and another seed could change the order. Lowest "
            "validation loss: a, 0.100 nats a token below b. Highest BLEU, toy: a."
        )
    )
    assert len(made.main_tables) == 1


def test_the_likelihood_of_the_test_set_comes_first(tmp_path: Path) -> None:
    for name, nats in (("a", 20.5), ("b", 21.0)):
        run = make_run(tmp_path, name, lines=spoilt(0.1), nats=[nats] * len(REFERENCES))
        change(run, "test", "toy_long", to=scores(9.0))
    made = report(tmp_path)
    assert header(made) == [
        "arm", "params (M)", "toy nats/sentence", "toy BLEU", "toy Δ nats/sentence", "toy_long BLEU"
    ]  # fmt: skip
    assert [lines(made)["b"][i] for i in (0, 1, 3, 4)] == ["2.00", "21.00", "+0.50", "9.00"]
    assert made.main_tables[0].optional == [1, 5]
    assert "Lowest negative log-likelihood, toy: a, 0.50 nats a sentence below b." in made.main_tables[0].lead[0]


def test_arms_that_differ_in_their_seeds_say_so(tmp_path: Path) -> None:
    add_seeds(tmp_path, "a", [1.5, 1.6])
    add_seeds(tmp_path, "b", [1.5])
    assert list(lines(report(tmp_path))) == ["a (2 seeds)", "b"]


@pytest.mark.parametrize(
    ("labels", "short"),
    [
        (["search.beam_size=4 x", "search.beam_size=8 x"], ["beam_size=4 x", "beam_size=8 x"]),
        (["model.dropout=0.1", "decoder.dropout=0.1 (failed)"], ["model.dropout=0.1", "decoder.dropout=0.1 (failed)"]),
        (["transformer", "a=1"], ["transformer", "a=1"]),
    ],
)
def test_labels_have_short_keys_where_they_are_not_ambiguous(labels: list[str], short: list[str]) -> None:
    assert shorten_keys(labels) == short


def test_labels_are_short_and_arms_are_whole(tmp_path: Path) -> None:
    for size in (1, 2):
        make_run(tmp_path, f"search.beam_size={size}-0000000{size}", tests={"toy": scores(beam_size=4)})
    found = rows_of(tmp_path)
    assert [row.label for row in found] == ["beam_size=1", "beam_size=2"]
    assert [row.arm for row in found] == ["search.beam_size=1", "search.beam_size=2"]


def test_a_run_without_the_likelihood_leaves_the_decision_to_the_loss(tmp_path: Path) -> None:
    for name in "ab":
        make_run(tmp_path, name, lines=spoilt(0.1), nats=[20.0] * len(REFERENCES))
    assert "toy nats/sentence" not in header(made := report(tmp_path))
    assert header(made)[2] == "nats/sentence"
    make_run(tmp_path, "c", lines=spoilt(0.1))
    made = report(tmp_path)
    assert header(made)[2] == "validation loss"
    assert any("not all runs stored it" in note for note in made.main_tables[0].notes)


def test_an_arm_without_a_result_is_not_called_beaten(tmp_path: Path) -> None:
    add_seeds(tmp_path, "a", [1.50, 1.51])
    add_seeds(tmp_path, "b", [1.90, 1.91])
    make_unfinished(tmp_path, "model=c")
    (lead,) = report(tmp_path).main_tables[0].lead
    assert "model" not in lead
    assert "ahead of the other 1 that were measured (all 95% intervals exclude zero)." in lead


def test_seeds_are_those_of_an_arm(tmp_path: Path) -> None:
    make_run(tmp_path, "model=a,seed=1-00000001", seed=1)
    make_run(tmp_path, "model=b,seed=2-00000002", seed=2)
    assert not any("standard deviation" in note for note in report(tmp_path).main_tables[0].notes)
    make_run(tmp_path, "model=a,seed=3-00000003", seed=3)
    assert "± is the standard deviation over the seeds of an arm." in report(tmp_path).main_tables[0].notes


def test_what_only_looks_equal_has_a_column(tmp_path: Path) -> None:
    for name, parameters in (("a", 2_254_080), ("b", 2_253_504)):
        change(make_run(tmp_path, name), "model", "parameters", to=parameters)
    costs = next(table for table in report(tmp_path).tables if table.title == "Costs")
    assert "params (M)" in costs.cells.columns.get_level_values(1)
    assert "non-embedding (M)" not in costs.cells.columns.get_level_values(1)
    assert costs.notes[0].startswith("Equal for all arms: non-embedding (M) 1.50;")


def test_runs_without_test_sets_are_compared_by_their_loss(tmp_path: Path) -> None:
    for name, loss in (("a", 1.5), ("b", 1.6)):
        run = make_run(tmp_path, name)
        change(run, "test", to={})
        change(run, "validation", "loss", to=loss)
    made = report(tmp_path)
    assert lines(made)["b"] == ["2.00", "1.600", "+0.100"]
    assert "Measures, validation" in [table.title for table in made.tables]


def test_without_a_reference_all_pairs_are_judged_together(tmp_path: Path) -> None:
    for name in "abcd":
        add_seeds(tmp_path, name, [1.5, 1.6])
    assert any("for all 6 differences" in note for note in report(tmp_path).main_tables[0].notes)


def test_arms_that_are_equal_are_called_so(tmp_path: Path) -> None:
    """One of two that agreed in every digit was called the best, by 0.00."""
    for number, label in enumerate(("a", "b", "c"), 1):
        run = make_run(tmp_path, f"model={label}-0000000{number}")
        change(run, "validation", "loss", to=1.5 + (label == "c"))
    assert "Lowest validation loss: a and b, which are equal." in report(tmp_path).main_tables[0].lead[0]


def test_arms_that_diverged_are_named(tmp_path: Path) -> None:
    make_run(tmp_path, "model=a-00000001")
    change(make_run(tmp_path, "model=b-00000002", tests={}), "diverged", to=True)
    assert any(
        str(note).startswith("Warnings: training diverged (b)") for note in report(tmp_path).main_tables[0].notes
    )
