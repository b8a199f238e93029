"""Losses and gradients do not depend on the number of threads beyond rounding."""

from __future__ import annotations

import pytest
import torch
from conftest import build_model, random_batch

from triptych.training.loss import TranslationLoss


@pytest.mark.parametrize("model", ["model=rnn_luong", "model=transformer", "model=lm4mt"])
def test_threads_change_nothing_but_rounding(model: str) -> None:
    batch = random_batch([(length, 24 - length) for length in range(4, 20)] * 4)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            built = build_model(model).float().eval()
            loss = TranslationLoss(label_smoothing=0.1, mean="terms", autoencode=lambda progress: 1.0)
            total = loss(built(batch), batch.step_tokens, 0.0).loss
            total.backward()
            gradients = (parameter.grad for parameter in built.parameters() if parameter.grad is not None)
            found.append([total.detach(), *gradients])
    finally:
        torch.set_num_threads(before)
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-6)
