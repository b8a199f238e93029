"""Runs of one GPU each, on a machine that has several."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from triptych.training.devices import claimed_devices


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda place: SimpleNamespace(uuid=f"gpu-{place}"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.mark.usefixtures("two_gpus")
def test_every_run_has_one_of_its_own() -> None:
    with claimed_devices("gpu", 1) as first, claimed_devices("gpu", 1) as second:
        assert (first, second) == ([0], [1])
    with claimed_devices("gpu", 1) as again:
        assert again == [0]


@pytest.mark.usefixtures("two_gpus")
def test_a_run_waits_for_a_free_one(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with claimed_devices("gpu", 1), claimed_devices("gpu", 1) as second:

        def wait(seconds: float) -> None:
            raise TimeoutError

        monkeypatch.setattr("time.sleep", wait)
        assert second == [1]
        with pytest.raises(TimeoutError), claimed_devices("gpu", 1):
            pass
    assert caplog.messages == ["other runs use all 2 GPUs; waiting for one of them to end."]


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(("accelerator", "devices"), [("cpu", 1), ("gpu", 2)])
def test_where_there_is_nothing_to_choose(accelerator: str, devices: int) -> None:
    with claimed_devices(accelerator, devices) as found:
        assert found == devices
