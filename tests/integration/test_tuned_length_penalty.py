"""A length penalty that each run chooses after training, from the command line to the report."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from conftest import write_three_languages

import triptych
from triptych.errors import UserError
from triptych.training.run import NO_TEST_SET

TINY = ["scale=smoke", "budget.steps=4", "validation.every=2", "data.train=200", "tokenizer=char", "model=rnn_none"]
TINY += ["data.validation=5", "data.test=3", "data.test_long=2"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[triptych.Run]:
    """Two searches whose penalty was tuned, and one whose was given."""
    folder = tmp_path_factory.mktemp("tuned")
    place = [f"cache={folder / 'cache'}", f"output={folder / 'runs'}"]
    swept = triptych.sweep(*TINY, *place, "search.length_penalty=tuned", "search.beam_size=2,3")
    return [*swept, triptych.train(*TINY, *place, "search.length_penalty=0.6", "search.beam_size=2")]


def test_the_runs_share_a_training_and_each_chooses(runs: list[triptych.Run]) -> None:
    assert "weights_of" not in runs[0].result
    assert {run.result["weights_of"] for run in runs[1:]} == {runs[0].folder.name}
    for run in runs[:2]:
        for scores in run.result["test"].values():
            tried = scores["length_penalty_tuned"]
            assert list(tried) == ["0", "0.4", "0.8", "1.2", "1.6", "2"]
            assert tried[f"{scores['length_penalty']:g}"] == max(tried.values())
            assert scores["at_common_penalty"]["length_penalty"] == 0.6
            assert run.result["search"] == {key: scores[key] for key in ("length_penalty", "length_penalty_tuned")}
    assert "search" not in runs[2].result
    for name, scores in runs[2].result["test"].items():
        assert "length_penalty_tuned" not in scores
        assert runs[0].result["test"][name]["at_common_penalty"]["bleu"] == scores["bleu"]
        assert runs[0].result["test"][name]["nats_per_word"] == scores["nats_per_word"], "no search enters"


def test_a_tuned_run_translates_with_what_it_chose(runs: list[triptych.Run]) -> None:
    run = triptych.load(runs[0].folder)
    scores = run.result["test"]["test"]
    lines = (run.folder / "translations" / "test.src.txt").read_text().splitlines()
    expected = (run.folder / "translations" / "test.txt").read_text().splitlines()
    assert run.translator.search.length_penalty == scores["length_penalty"]
    assert run.translate(lines) == expected
    again = triptych.evaluate(run, split="test")
    assert (again["bleu"], again["length_penalty"]) == (scores["bleu"], scores["length_penalty"])
    first = triptych.evaluate(run, "search.stop=first", split="test")
    assert first["stop"] == "first"
    assert len([*run.files.translations.glob("test.best.beam2.*[0-9].txt")]) == 1, "each search has its files"
    assert len([*run.files.translations.glob("test.best.beam2.*[0-9].first.txt")]) == 1
    anew = triptych.evaluate(runs[2], "search.length_penalty=tuned", "metric=[bleu]", split="test")
    assert anew["length_penalty_tuned"] == scores["length_penalty_tuned"]


@pytest.mark.parametrize("without", ["data.test=[]", pytest.param("test=false", marks=pytest.mark.slow)])
def test_a_run_without_test_sets_translates_with_what_it_chose(
    without: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "triptych")
    monkeypatch.setattr(logging.getLogger("triptych"), "propagate", True)
    text = ["data=text", f"data.dir={write_three_languages(tmp_path)}", "data.src=fr", "data.tgt=en", without]
    place = [f"cache={tmp_path / 'cache'}", f"output={tmp_path / 'runs'}"]
    budget = ["scale=smoke", "tokenizer=char", "model=rnn_none", "budget.steps=2", "validation.every=2"]
    run = triptych.train(*budget, *text, *place, "search.length_penalty=tuned", "search.beam_size=2")
    assert run.result["test"] == {}
    assert (NO_TEST_SET in caplog.messages) == (without == "data.test=[]")
    chosen, tried = (run.result["search"][key] for key in ("length_penalty", "length_penalty_tuned"))
    assert tried[f"{chosen:g}"] == max(tried.values())
    assert triptych.load(run.folder).translator.search.length_penalty == chosen
    assert triptych.evaluate(run, split="validation")["length_penalty"] == chosen
    assert len(run.translate(["chat rouge"])) == 1
    if without == "test=false":
        assert triptych.evaluate(run, split="test")["length_penalty"] == chosen, "the test sets can be scored later"


def test_references_are_scored_as_the_run_scores_pairs(runs: list[triptych.Run]) -> None:
    folder = runs[0].folder / "translations"
    sources, references, nats = (
        (folder / f"test{end}").read_text().splitlines() for end in (".src.txt", ".ref.txt", ".nats.txt")
    )
    expected = runs[0].score(sources, references)
    assert [float(value) for value in nats] == pytest.approx([-score for score in expected], abs=1e-4)


def test_runs_that_tuned_are_compared_and_others_are_not(runs: list[triptych.Run], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"(length_penalty|beam_size) differs between runs"):
        triptych.report(runs[0].folder.parent)
