"""Forecasts for GPUs against what was measured on one (benchmarks/results/gpu.json)."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from conftest import ROOT
from hydra.utils import instantiate

from benchmarks.gpu import Bench
from triptych.config.validation import build_without_values
from triptych.sweeps.measure import activation_bytes_on_gpu

MEASURED: dict[str, Any] = json.loads((ROOT / "benchmarks" / "results" / "gpu.json").read_text())


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(torch.device("cpu"), small=False)


@pytest.mark.parametrize("arm", ["transformer_base", "lm4mt_article", "rnn_luong", "rnn_bahdanau"])
def test_the_share_of_the_peak_is_the_measured_one(arm: str, bench: Bench) -> None:
    peak = MEASURED["peak"]["products"]
    share = MEASURED["trainer"][arm]["share_of_measured_peak"] * peak["measured"] / peak["datasheet"]
    model = build_without_values(bench._compose(bench.arms[arm]).model, bench.vocabulary)
    assert model.gpu_utilisation == pytest.approx(share, abs=0.001)


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["transformer_base", "lm4mt_article", "rnn_luong", "rnn_bahdanau"])
def test_the_memory_is_the_measured_one(arm: str, bench: Bench) -> None:
    config = bench._compose(bench.arms[arm])
    model = build_without_values(config.model, bench.vocabulary)
    gradients = 4 * sum(parameter.numel() for parameter in model.parameters())
    batch = next(bench.text.batches(1, 0))
    kept = activation_bytes_on_gpu(model, instantiate(config.loss), batch.host_lengths.T, "bf16-mixed")
    assert kept + gradients == pytest.approx(MEASURED["memory"][f"{arm} ours"]["bytes"], rel=0.05)
