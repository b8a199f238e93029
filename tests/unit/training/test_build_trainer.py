"""The trainer gets the strategy, the arguments of ``trainer.*``, and what triptych sets itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from triptych.config.composition import compose_run
from triptych.errors import UserError
from triptych.training.build import build_trainer


def test_arguments_of_the_trainer(tmp_path: Path) -> None:
    config = compose_run(["scale=smoke", "log_every=7", "+trainer.profiler=simple", "trainer.gradient_clip_val=2"])
    trainer = build_trainer(config.config, steps=5, devices=1, callbacks=[], folder=tmp_path)
    assert (trainer.gradient_clip_val, trainer.log_every_n_steps) == (2, 7)
    assert type(trainer.profiler).__name__ == "SimpleProfiler"
    measuring = build_trainer(config.config, steps=5, devices=1, callbacks=[], folder=None)
    assert (measuring.limit_val_batches, measuring.checkpoint_callbacks) == (0, [])


def test_a_measurement_runs_on_one_device_of_one_machine() -> None:
    ranks = ["strategy=ddp", "strategy.accelerator=cpu", "strategy.precision=32-true", "strategy.num_nodes=2"]
    config = compose_run(["scale=smoke", *ranks]).config
    assert build_trainer(config, steps=5, devices=2, callbacks=[], folder=None).world_size == 1


def test_what_does_not_work_is_named(tmp_path: Path) -> None:
    config = compose_run(["scale=smoke", "+trainer.profiler=nosuch"]).config
    with pytest.raises(UserError, match=r"trainer.profiler=nosuch\) does not work here: When passing string value"):
        build_trainer(config, steps=5, devices=1, callbacks=[], folder=tmp_path)
