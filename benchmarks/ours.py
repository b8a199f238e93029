"""Train the arms of the benchmarks with equal settings, by the command line or step by step."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hydra.utils import instantiate
from lightning.pytorch.callbacks import Callback
from torch import Tensor
from torch.profiler import record_function

from benchmarks.paced import Pace, Turn, Worker
from benchmarks.training_clock import TrainingClock
from triptych.config.composition import compose_run
from triptych.contract.batch import Batch
from triptych.kernels.fast_matmul import fast_products
from triptych.training.build import build_parts

COMMON = [
    "scale=multi30k",
    "data.tgt=fr",
    "scale.vocab_size=8000",
    "scale.d_model=256",
    "scale.num_heads=4",
    "scale.d_ff=1024",
    "scale.num_layers=3",
    "scale.decoder_only_layers=7",  # as many parameters as 3 + 3 layers of the encoder-decoder
    "scale.recurrent_layers=2",
    "scale.dropout=0.1",
    "scale.learning_rate=1e-3",
    "scale.warmup=400",
    "optimizer=inverse_sqrt",
    "optimizer.optimizer.eps=1e-8",
    "optimizer.weight_decay=0",
    "batch.tokens=4096",
]
TRANSFORMER = [
    "model.positions=sinusoidal",
    "model.attention_dropout=0.1",  # JoeyNMT has one dropout for all three places
    "model.activation_dropout=0.1",
]
ARMS = {
    "transformer": ["model=transformer", *TRANSFORMER],
    "lm4mt": ["model=lm4mt", *TRANSFORMER, "loss=decayed"],
    "rnn_bahdanau": ["model=rnn_bahdanau"],
    "rnn_luong": ["model=rnn_luong", "model.score=general"],
    "rnn_luong_feeding": ["model=rnn_luong", "model.score=general", "model.input_feeding=true"],
}
WARMUP = 5
"""Updates before the first turn."""
MOST = 10_000
"""Updates that no training reaches."""


class Until(Callback):
    """Reports each validation, and ends the training when BLEU has reached a goal."""

    def __init__(self, goal: float) -> None:
        self.goal = goal

    def on_train_start(self, trainer: Any, module: Any) -> None:
        self.clock = TrainingClock()

    def on_validation_start(self, trainer: Any, module: Any) -> None:
        self.clock.stop()

    def on_validation_end(self, trainer: Any, module: Any) -> None:
        bleu = float(trainer.callback_metrics["validation/bleu"])
        self.clock.report(trainer.global_step, bleu)
        trainer.should_stop |= bleu >= self.goal

    def on_train_batch_start(self, trainer: Any, module: Any, batch: Batch, index: int) -> None:
        self.clock.go_on()


class InTurns(Callback):
    """Stops a training between its turns, and ends it when no turn is left.

    An update counts as many tokens as those of an epoch have on average: a turn has too few for a mean of their own.
    """

    def on_train_start(self, trainer: Any, module: Any) -> None:
        stream = trainer.datamodule.stream
        self.tokens = stream.tokens_of(np.arange(len(stream.lengths))) / stream.epoch_steps  # (2,), source and target
        self.pace = Pace(WARMUP)

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Batch, index: int) -> None:
        src_tokens, tgt_tokens = map(float, self.tokens)
        trainer.should_stop |= not self.pace.step(updates=1, src_tokens=src_tokens, tgt_tokens=tgt_tokens)


def command(arm: str, output: Path, *options: str) -> list[str]:
    """Return the command that trains an arm in a folder."""
    given = [
        *COMMON,
        *ARMS[arm],
        "log_every=10",
        "search.length_penalty=0.6",
        "test=false",
        *options,
        f"output={output}",
    ]
    return [sys.executable, "-m", "triptych", "train", *given]


def train_until(arm: str, output: Path, goal: float, every: int, *options: str) -> list[str]:
    """Return the command that trains an arm until its BLEU reaches a goal.

    Args:
        every: updates between validations.
    """
    limits = [f"budget.steps={MOST}", f"validation.every={every}", "validation.bleu_every=1"]
    callback = ["+callbacks.until._target_=benchmarks.ours.Until", f"+callbacks.until.goal={goal}"]
    return command(arm, output, *limits, *callback, *options)


def train_in_turns(arm: str, output: Path, turn: Turn, *options: str) -> Worker:
    """Return a process that trains an arm in turns."""
    limits = [f"budget.steps={MOST}", f"validation.every={MOST}", "validation.bleu_every=2"]
    callback = "+callbacks.turns._target_=benchmarks.ours.InTurns"
    return Worker(command(arm, output, *limits, callback, *options), turn)


def train_for(arm: str, output: Path, updates: int, *options: str) -> list[str]:
    """Return the command that trains an arm for some small updates."""
    limits = [f"budget.steps={updates}", f"validation.every={updates}", "validation.bleu_every=2"]
    return command(arm, output, *limits, "batch.tokens=1024", "scale.warmup=100", *options)


def finished(output: Path) -> tuple[Path, dict[str, Any]]:
    """Return the folder of the run in an output folder, and its result."""
    (path,) = output.glob("*/result.json")
    return path.parent, json.loads(path.read_text())


class Steps:
    """Training steps without a trainer, for profiles.

    Args:
        arm: name in ``ARMS``.
        options: further overrides.
    """

    def __init__(self, arm: str, *options: str) -> None:
        config = compose_run([*COMMON, *ARMS[arm], *options]).config
        torch.manual_seed(config.seed)
        parts = build_parts(config, instantiate(config.data), None, workers=0)
        self.task = parts.module
        self.task.train()
        self.optimizer = self.task.configure_optimizers()["optimizer"]
        self.clip = config.trainer.gradient_clip_val
        self.bf16 = config.strategy.precision == "bf16-mixed"
        self.batches: Iterator[Batch] = iter(parts.data.train_dataloader())

    def step(self) -> Tensor:
        """Take one optimizer step, and return its loss."""
        with record_function("data"):
            batch = next(self.batches)
        with fast_products(torch.device("cpu")):
            with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
                prediction = self.task.model(batch)
                with record_function("loss"):
                    loss = self.task.loss(prediction, batch.step_tokens, 0.0).loss
            loss.backward()
        with record_function("optimizer"):
            torch.nn.utils.clip_grad_norm_(self.task.parameters(), self.clip)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        return loss
