"""The first table of a report, and the sentences below it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from made_runs import NODE, REFERENCES, add_arm, change, make_run, rows_of, scores, spoilt

from triptych.reports.build import Report, report
from triptych.reports.labels import shorten_keys

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
        "model", "params (M)", "validation loss", "BLEU", f"Δ validation loss {INTERVAL}", "published Δ"
    ]  # fmt: skip
    base, other = lines(made)["base"], lines(made)["B1"]
    assert base[:2] == ["2.00", "1.500 ± 0.010"]
    assert base[3:] == ["reference", ""]
    assert other[:2] == ["2.00", "1.700 ± 0.010"]
    assert other[3].startswith("+0.200 [+0.1")
    assert other[4] == "−0.7", "25.1 in Vaswani's table 3, whose base has 25.8"
    notes = made.main_tables[0].notes
    assert notes[0].startswith(
        "Lowest validation loss: base, 0.200 nats a token below B1. It is ahead of every other arm (95% interval "
        "against B1, corrected for all pairs: 0.1"
    )
    assert any(
        note.startswith(
            "Δ: against base, the reference, in nats a token (lower is better). Intervals cover seeds, at 95%"
        )
        for note in notes
    )
    assert any("Validation loss (nats a token) stands in" in note for note in notes)
    assert any(note.startswith("Published Δ: BLEU (newstest2013 en-de), against base.") for note in notes)
    assert made.main_tables[0].best == {(0, 2), (0, 3)}


def test_what_may_be_as_good_is_named(tmp_path: Path) -> None:
    add_seeds(tmp_path, "a", [1.50, 1.60])
    add_seeds(tmp_path, "b", [1.51, 1.61])
    add_seeds(tmp_path, "c", [9.00, 9.10])
    headline = report(tmp_path).main_tables[0].notes[0]
    assert headline == ("Lowest validation loss: a, 0.010 nats a token below b. That is not settled: b may be as good.")


def test_one_seed_has_a_difference_and_no_interval(tmp_path: Path) -> None:
    make_run(tmp_path, "a", lines=spoilt(0.1))
    change(make_run(tmp_path, "b", lines=spoilt(0.4)), "validation", "loss", to=1.6)
    made = report(tmp_path)
    assert header(made)[-1] == "Δ validation loss"
    assert lines(made)["b"][-1] == "+0.100"
    assert lines(made)["a"][-1] == "best"
    assert made.main_tables[0].notes[0].endswith("Each arm was trained once: another seed could change the order.")
    assert len(made.main_tables) == 1


def test_the_likelihood_of_the_test_set_comes_first(tmp_path: Path) -> None:
    for name, nats in (("a", 20.5), ("b", 21.0)):
        run = make_run(tmp_path, name, lines=spoilt(0.1), nats=[nats] * len(REFERENCES))
        change(run, "test", "toy_long", to=scores(9.0))
    made = report(tmp_path)
    assert header(made) == [
        "model", "params (M)", "toy nats/sentence", "toy BLEU", "toy Δ nats/sentence", "toy_long BLEU"
    ]  # fmt: skip
    assert [lines(made)["b"][i] for i in (0, 1, 3, 4)] == ["2.00", "21.00", "+0.50", "9.00"]
    assert made.main_tables[0].optional == [1, 5]
    assert (
        made.main_tables[0].notes[0].startswith("Lowest negative log-likelihood, toy: a, 0.50 nats a sentence below b.")
    )


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
