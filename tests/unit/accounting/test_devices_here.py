"""A device that is not there is named with those that are; a shortage of memory stays one."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from triptych.accounting.devices import devices_here, explain_precision, on_device
from triptych.errors import UserError


def test_devices_are_named_as_the_key_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert devices_here() == ["cpu", "cuda:0", "cuda:1"]
    with pytest.raises(UserError, match=r"^device=nope is not there; this machine has cpu, cuda:0, cuda:1\.$"):
        on_device(nn.Linear(1, 1), "nope")


def test_a_shortage_of_memory_is_no_missing_device(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> nn.Module:
        raise RuntimeError("CUDA out of memory")

    model = nn.Linear(1, 1)
    assert on_device(model, "cpu") is model
    monkeypatch.setattr(model, "to", refuse)
    with pytest.raises(RuntimeError, match="out of memory"):
        on_device(model, "cpu")


def test_bf16_is_called_slow_on_a_cpu_that_emulates_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    monkeypatch.setattr("triptych.accounting.devices.has_bf16", lambda: False)
    assert "no instructions for bf16" in explain_precision("strategy.precision", "bf16-mixed", cpu, "32-true")[0]
    assert (
        explain_precision("strategy.precision", "32-true", cpu, "32-true")
        == explain_precision("strategy.precision", "bf16-mixed", gpu, "32-true")
        == []
    )
    monkeypatch.setattr("triptych.accounting.devices.has_bf16", lambda: True)
    assert explain_precision("strategy.precision", "bf16-mixed", cpu, "32-true") == []
