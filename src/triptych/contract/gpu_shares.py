"""How much of a GPU's peak a model uses, for forecasts."""

from __future__ import annotations

from typing import NamedTuple


class GpuShares(NamedTuple):
    """Shares of a data sheet's peak in bf16 that a kind of model reached on an H200 (benchmarks/results/gpu.md).

    Those of training Transformers and LM4MT are estimates: in their measurements PyTorch 2.11 compiled attention
    without its gradient, so that only 68% and some 86% of a training's products ran.

    Attributes:
        training: in ``bf16-mixed``, with 4 to 19 layers of 512 to 1,000 units and batches of 25,000 tokens.
        search: with a beam of 4, in fp32, as a run translates.
    """

    training: float
    search: float
