"""What is said of a run's figures, and what is not."""

from __future__ import annotations

import math

import pytest

from triptych.runs.warnings import of_training, warnings_of

TEXT = {
    "sentences": {"validation": 10, "test": 1000},
    "repeated": {"validation": 0, "test": 12},
    "unknown": {"train": 0.009, "test": 0.031},
    "unused": 0.75,
}


def test_a_run_without_figures_has_no_warnings() -> None:
    assert warnings_of({}) == []
    assert warnings_of({"train": {"threads": None}, "validation": {"loss": None}, "test": {"test": {}}}) == []


def test_each_figure_has_its_sentence() -> None:
    result = {
        "text": TEXT,
        "train": {"unigram_loss": 5.0, "other_cores": 1.5, "cores": 2, "threads": 1},
        "validation": {"loss": 5.5},
        "test": {"test": {"cut_share": 0.042, "empty": 3, "sentences": 1000}, "test_long": {"cut_share": 0.0}},
    }
    said = [one.sentence for one in warnings_of(result)]
    for number, start in enumerate(
        [
            "test: 12 of 1,000 source sentences stand in the training text too",
            "test: the tokenizer has no piece for 3.1% of the tokens",
            "tokenizer: 75% of the vocabulary occur nowhere in the training text",
            "nothing was learned: the validation loss, 5.500 nats a token, is not below",
            "other programs kept 1.5 of 2 cores busy during the training",
            "test: the length limit ended 4.2% of the translations",
            "test: 3 of 1,000 translations are empty",
        ]
    ):
        assert said[number].startswith(start)
    assert len(said) == 7
    assert not any(character.isdigit() for one in warnings_of(result) for character in one.about)


def test_arms_side_by_side_leave_each_other_their_cores() -> None:
    beside_another_arm = {"threads": 1, "other_cores": 1.1, "cores": 2}
    assert of_training(beside_another_arm, 2.0) == []
    assert len(of_training({**beside_another_arm, "threads": 2}, 2.0)) == 1


@pytest.mark.parametrize(("loss", "said"), [(4.99, 0), (5.0, 1), (math.inf, 1), (None, 0)])
def test_a_loss_that_does_not_move(loss: float | None, said: int) -> None:
    assert len(of_training({"unigram_loss": 5.0}, loss)) == said
