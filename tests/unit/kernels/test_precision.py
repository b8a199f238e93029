"""Which processors compute slowly in bfloat16."""

from __future__ import annotations

import pytest
import torch

from triptych.kernels.precision import explain_precision


def test_bf16_is_called_slow_on_a_cpu_that_emulates_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    monkeypatch.setattr("triptych.kernels.precision.has_bf16", lambda: False)
    assert "no instructions for bf16" in explain_precision("strategy.precision", "bf16-mixed", cpu)[0]
    assert (
        explain_precision("strategy.precision", "32-true", cpu)
        == explain_precision("strategy.precision", "bf16-mixed", gpu)
        == []
    )
    monkeypatch.setattr("triptych.kernels.precision.has_bf16", lambda: True)
    assert explain_precision("strategy.precision", "bf16-mixed", cpu) == []
