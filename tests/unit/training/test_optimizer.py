"""What the optimizer is told."""

from __future__ import annotations

import pytest
from conftest import VOCABULARY, compose_train
from hydra.utils import instantiate

from triptych.training.build import build_module


def test_matrices_alone_decay() -> None:
    config = compose_train("scale=smoke", "optimizer.weight_decay=0.1")
    model = instantiate(config.model, vocabulary=VOCABULARY)
    matrices = sum(parameter.numel() for parameter in model.parameters() if parameter.dim() > 1)
    module = build_module(config, model, instantiate(config.loss), 10, tokenizer="")
    decayed, others = module.configure_optimizers()["optimizer"].param_groups
    assert (decayed["weight_decay"], others["weight_decay"]) == (0.1, 0.0)
    assert sum(parameter.numel() for parameter in decayed["params"]) == matrices


@pytest.mark.parametrize(("given", "fused"), [([], True), (["+optimizer.optimizer.fused=false"], False)])
def test_the_fused_kernel_is_used_unless_it_is_declined(given: list[str], fused: bool) -> None:
    config = compose_train("scale=smoke", *given)
    module = build_module(
        config, instantiate(config.model, vocabulary=VOCABULARY), instantiate(config.loss), 10, tokenizer=""
    )
    assert {group["fused"] for group in module.configure_optimizers()["optimizer"].param_groups} == {fused}
