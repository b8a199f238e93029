"""What the optimizer is told."""

from __future__ import annotations

from types import SimpleNamespace

from conftest import VOCABULARY, compose_train
from hydra.utils import instantiate

from triptych.training.build import task_of


def test_matrices_alone_decay_though_they_are_sharded() -> None:
    config = compose_train("scale=smoke", "optimizer.weight_decay=0.1")
    model = instantiate(config.model, vocabulary=VOCABULARY)
    matrices = sum(parameter.numel() for parameter in model.parameters() if parameter.dim() > 1)
    prepared = SimpleNamespace(model=model, tokenizer=SimpleNamespace(fingerprint=""))
    task = task_of(config, prepared, instantiate(config.loss), 10)
    for parameter in model.parameters():
        parameter.data = parameter.data.flatten()
    decayed, others = task.configure_optimizers()["optimizer"].param_groups
    assert (decayed["weight_decay"], others["weight_decay"]) == (0.1, 0.0)
    assert sum(parameter.numel() for parameter in decayed["params"]) == matrices
