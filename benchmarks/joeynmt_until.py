"""JoeyNMT's training, with JoeyNMT's own code, in its environment, until it has learned enough.

    PYTHONPATH=CHECKOUT GOAL=BLEU EVERY=SECONDS python -m benchmarks.joeynmt_until CONFIG [OPTION …]

The configuration must validate after every update. Of these validations, only one in so many seconds of training takes
place.
"""

from __future__ import annotations

import os
import runpy
import sys
from typing import Any

from joeynmt.training import TrainManager

from benchmarks.training_clock import TrainingClock


def train_until(goal: float, every: float) -> None:
    train, validate, add_report = TrainManager.train_and_validate, TrainManager._validate, TrainManager._add_report
    clock, validations, bleu = TrainingClock(), 0, 0.0

    def train_by_the_clock(self: TrainManager, **data: Any) -> None:
        nonlocal clock
        clock = TrainingClock()
        train(self, **data)

    def keep_bleu(self: TrainManager, valid_scores: dict[str, float], new_best: bool = False) -> None:
        nonlocal bleu
        bleu = valid_scores["bleu"]
        add_report(self, valid_scores, new_best)

    def validate_at_times(self: TrainManager, valid_data: Any) -> None:
        nonlocal validations
        if clock.seconds < every * (validations + 1):
            return
        clock.stop()
        validate(self, valid_data)
        validations += 1
        clock.report(self.stats.steps, bleu)
        if bleu >= goal:
            raise KeyboardInterrupt  # JoeyNMT then ends the training and saves
        clock.go_on()

    TrainManager.train_and_validate, TrainManager._add_report = train_by_the_clock, keep_bleu
    TrainManager._validate = validate_at_times


if __name__ == "__main__":
    train_until(float(os.environ["GOAL"]), float(os.environ["EVERY"]))
    sys.argv.insert(1, "train")
    runpy.run_module("joeynmt", run_name="__main__")
