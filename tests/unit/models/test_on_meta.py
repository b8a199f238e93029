"""Training asks the device for nothing: on the ``meta`` device, tensors have no values to ask for."""

from __future__ import annotations

import pytest
import torch
from conftest import ROOT, VOCABULARY, compose_train, random_batch
from torch import Tensor
from torch.nn import functional as F

from triptych import kernels
from triptych.config.validation import build_without_values
from triptych.layers.attention import dot_product_attention
from triptych.training.loss import TranslationLoss

QUICK = ("transformer", "lm4mt", "rnn_luong", "convs2s")
OTHERS = sorted({path.stem for path in (ROOT / "conf" / "model").glob("*.yaml")} - {*QUICK})


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_a_step_of_training(name: str) -> None:
    model = build_without_values(compose_train("scale=smoke", f"model={name}").model, VOCABULARY).train()
    loss = TranslationLoss(label_smoothing=0.1, mean="terms", autoencode=lambda _: 0.5)
    batch = random_batch([(5, 4), (2, 6), (7, 3)], 0).to(torch.device("meta"))
    loss(model(batch), batch.step_tokens, 0.5).loss.backward()
    with kernels.use("reference"):  # the fast loop knows matrices by their addresses, which are all 0 here
        loss(model(batch), batch.step_tokens, 0.5).loss.backward()
    assert all(p.grad is not None and p.grad.shape == p.shape for p in model.parameters())


def test_on_a_gpu_attention_is_not_cudnns(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = []

    def attend(query: Tensor, *_: object, **__: object) -> Tensor:
        backends = torch.backends.cuda
        allowed.append((backends.cudnn_sdp_enabled(), backends.flash_sdp_enabled(), backends.math_sdp_enabled()))
        return query

    monkeypatch.setattr(F, "scaled_dot_product_attention", attend)
    for device in ("meta", "cpu"):
        query = torch.ones(1, 2, 3, 4, device=device)
        dot_product_attention(query, query, query, mask=None, causal=True, dropout=0.0)
    assert allowed == [(False, True, True), (True, True, True)]
