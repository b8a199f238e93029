"""Contrastive suites from the command line: scored after training, scored again, and reported."""

from __future__ import annotations

import json

import pytest
from conftest import triptych as command_line

import triptych
from triptych.evaluation.word_recall import words_of

MODEL = ["model=transformer", "model.positions=none"]
TINY = ["scale=smoke", "budget.steps=2", "validation.every=2", "data.train=200", "tokenizer=char", *MODEL]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> triptych.Run:
    folder = tmp_path_factory.mktemp("suites")
    place = [f"cache={folder / 'cache'}", f"output={folder / 'runs'}"]
    return triptych.train(
        *TINY, *place, "name=scored", "suite_items=4", "metric=[bleu,exact_match]", "frequency_edges=[1,6]"
    )


def test_a_training_stores_accuracies_and_items(run: triptych.Run) -> None:
    suites = run.result["suites"]
    assert len(suites) == 9
    for name, scores in suites.items():
        lines = [json.loads(line) for line in (run.folder / "suites" / f"{name}.jsonl").read_text().splitlines()]
        assert len(lines) == scores["items"] == 4
        assert sum(line["margin"] > 0 for line in lines) == scores["right"]
        sources = [line["source"] for line in lines]
        right, wrong = (run.score(sources, [line[key] for line in lines]) for key in ("right", "wrong"))
        assert [ours - theirs for ours, theirs in zip(right, wrong, strict=True)] == pytest.approx(
            [line["margin"] for line in lines], abs=1e-3
        )


def test_a_model_without_positions_solves_half_of_the_pairs_of_order(run: triptych.Run) -> None:
    assert run.result["suites"]["word_order"]["right"] == 2


def test_evaluate_scores_them_again(run: triptych.Run) -> None:
    assert triptych.evaluate(run, "suite_items=4", split="suites") == run.result["suites"]
    done = command_line("evaluate", f"run={run.folder}", "split=suites", "suite_items=2", cwd=run.folder)
    assert done.returncode == 0, done.stderr
    assert "word_order" in done.stdout
    assert "Chance is 50%." in done.stdout
    assert (run.folder / "suites" / f"word_order.{run.checkpoint}.jsonl").exists()


def test_the_report_has_them_and_the_exact_match(run: triptych.Run) -> None:
    figures = triptych.report(run.folder.parent).iloc[0]
    assert figures["suites/negation"] == run.result["suites"]["negation"]["accuracy"]
    assert figures["test/exact_match"] == run.result["test"]["test"]["exact_match"]
    ranges = run.result["test"]["test"]["by_frequency"]
    assert [one["label"] for one in ranges] == ["0", "1-5", "6+"]
    references = (run.folder / "translations" / "test.ref.txt").read_text(encoding="utf-8")
    assert sum(one["words"] for one in ranges) == len(words_of(references))


@pytest.mark.slow
def test_another_number_of_items_shares_the_training(run: triptych.Run, caplog: pytest.LogCaptureFixture) -> None:
    place = [f"cache={run.folder.parents[1] / 'cache'}", f"output={run.folder.parent}"]
    again = triptych.train(*TINY, *place, "name=more", "suite_items=6", "metric=[bleu]")
    assert again.result["weights_of"] == "scored"
    assert again.result["suites"]["clitics"]["items"] == 6
    assert any("the length limit ended" in message for message in caplog.messages), "warned as after a training"
