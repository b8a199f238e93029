"""JoeyNMT's training or translation, with JoeyNMT's own code, in its environment, in turns.

    PYTHONPATH=CHECKOUT python -m benchmarks.joeynmt_paced train|test CONFIG [OPTION …]

A step is an update, or the translation of a batch. The configuration of a training must validate after every update:
here this ends the step, and nothing is validated.
"""

from __future__ import annotations

import runpy
import sys
from typing import Any

from joeynmt import prediction
from joeynmt.training import TrainManager

from benchmarks.paced import Pace

WARMUP = {"train": 5, "test": 1}


def tokens_an_update(manager: TrainManager) -> float:
    """Return the mean number of target tokens in the updates of an epoch: a turn has too few for a mean of its own."""
    batches, pairs = manager.train_iter.batch_sampler, manager.train_iter.dataset
    tokens = [sum(len(pairs[place][2]) + 1 for place in batch) for batch in batches]
    return sum(tokens) / len(tokens)


def train_in_turns() -> None:
    pace, tokens = Pace(WARMUP["train"]), None

    def end_step(self: TrainManager, valid_data: Any) -> None:
        nonlocal tokens
        tokens = tokens or tokens_an_update(self)
        if not pace.step(updates=1, tgt_tokens=tokens):
            raise KeyboardInterrupt  # JoeyNMT then ends the training and saves

    TrainManager._validate = end_step


def translate_in_turns() -> None:
    search, pace = prediction.search, Pace(WARMUP["test"])

    def search_and_end_step(*given: Any, **options: Any) -> Any:
        found = search(*given, **options)
        pace.step(sentences=len(found[0]))
        return found

    prediction.search = search_and_end_step


if __name__ == "__main__":
    {"train": train_in_turns, "test": translate_in_turns}[sys.argv[1]]()
    runpy.run_module("joeynmt", run_name="__main__")
