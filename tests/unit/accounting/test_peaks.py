"""Peak rates of devices, from datasheets and measured."""

from __future__ import annotations

import pytest
import torch

from triptych.accounting import peaks
from triptych.errors import UserError


@pytest.mark.parametrize(
    ("name", "peak", "source"),
    [
        ("NVIDIA A100-SXM4-80GB", 312e12, "A100"),
        ("NVIDIA H100 80GB HBM3", 989e12, "H100 SXM"),
        ("NVIDIA H100 PCIe", 756e12, "H100 PCIe"),
        ("NVIDIA H200", 989e12, "H200"),
        ("Tesla V100-SXM2-16GB", 125e12, "V100 SXM2"),
        ("Tesla V100-PCIE-32GB", 112e12, "V100 PCIe"),
    ],
)
def test_known_gpus_have_the_dense_peak_of_their_datasheet(
    monkeypatch: pytest.MonkeyPatch, name: str, peak: float, source: str
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: name)
    found, where = peaks.peak_flops("cuda:0")
    assert found == peak
    assert source in where
    assert "datasheet" in where


@pytest.mark.parametrize("name", ["NVIDIA GeForce GTX 1080", "NVIDIA RTX A1000", "NVIDIA H100 80GB HBM3 MIG 1g.10gb"])
def test_other_gpus_are_measured(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: name)
    monkeypatch.setattr(peaks, "measured_peak", lambda device, dtype, threads: (1.0, f"{dtype} on {device}"))
    assert peaks.peak_flops("cuda:1") == (1.0, "torch.bfloat16 on cuda:1")


@pytest.mark.slow
def test_a_cpu_is_measured() -> None:
    peak, source = peaks.peak_flops("cpu")
    assert 1e8 < peak < 1e15
    assert source.startswith("measured here, float32 matrix product of 1024, best of ")
    assert peaks.peak_flops("cpu") == (peak, source)  # one denominator for all runs of a process
    assert peaks.peak_flops("cpu", "bf16-mixed")[1].startswith("measured here, bfloat16 matrix product")


def test_a_measured_rate_is_that_of_the_fastest_product(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([90.0, 3.0, 2.0, *range(4, 21)])
    monkeypatch.setattr(peaks, "_seconds_of_product", lambda matrix: next(seconds))
    monkeypatch.setattr(peaks, "_measured", {})
    assert peaks.measured_peak(torch.device("cpu"), torch.float32, 1)[0] == 2 * 1024**3 / 2.0
    assert next(seconds) == 4, "slow products are few"


def test_a_process_takes_over_what_another_has_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    peaks.peak_flops("cpu")
    handed_on = {key: (7.0, how) for key, (_, how) in peaks.measured_peaks().items()}
    monkeypatch.setattr(peaks, "_measured", {})
    peaks.take_over(handed_on)
    assert peaks.peak_flops("cpu")[0] == 7.0


def test_an_unknown_peak() -> None:
    with pytest.raises(UserError, match="abacus"):
        peaks.datasheet_peak("abacus")
