"""Forecasts for GPUs against what was measured on one (benchmarks/results/gpu.json)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from conftest import ROOT
from hydra.utils import instantiate

from benchmarks.gpu import Bench
from triptych.config.validation import build_without_values
from triptych.data.assumed_lengths import sentence_lengths
from triptych.sweeps.measure import activation_bytes_on_gpu

MEASURED: dict[str, Any] = json.loads((ROOT / "benchmarks" / "results" / "gpu.json").read_text())


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(torch.device("cpu"), small=False)


@pytest.mark.parametrize("arm", ["transformer_base", "lm4mt_article", "rnn_luong", "rnn_bahdanau"])
def test_the_shares_of_the_peak_are_the_measured_ones(arm: str, bench: Bench) -> None:
    """But for trainings whose measurement was withdrawn: their shares are estimates."""
    peak = MEASURED["peak"]["products"]["datasheet"]
    model = build_without_values(bench._compose(bench.arms[arm]).model, bench.vocabulary)
    shares = model.gpu_shares
    assert shares is not None
    trained = MEASURED["trainer"][arm]
    if not isinstance(trained, str):
        assert shares.training == pytest.approx(trained["flops_per_second"] / peak, abs=0.0006)
    words = sentence_lengths(np.random.default_rng(2), bench.sentences)
    searched = 4 * sum(model.flops(int(n) + 1, int(n) + 12) for n in words)  # with </s>, <s> and ten pieces more
    assert shares.search == pytest.approx(searched / MEASURED["decode"][f"{arm} fp32"] / peak, abs=0.0006)


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["transformer_base", "lm4mt_article", "rnn_luong", "rnn_bahdanau"])
def test_the_memory_is_the_measured_one(arm: str, bench: Bench) -> None:
    config = bench._compose(bench.arms[arm])
    model = build_without_values(config.model, bench.vocabulary)
    gradients = 4 * sum(parameter.numel() for parameter in model.parameters())
    batch = next(bench.text.batches(1, 0))
    kept = activation_bytes_on_gpu(model, instantiate(config.loss), batch.host_lengths.T, "bf16-mixed")
    assert kept + gradients == pytest.approx(MEASURED["memory"][f"{arm} ours"]["bytes"], rel=0.05)
