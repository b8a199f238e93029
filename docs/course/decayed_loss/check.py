"""The checks of lab 3."""

from itertools import pairwise
from math import exp, log

import pytest
import torch

from triptych.contract.batch import Prediction
from triptych.training.loss import TranslationLoss
from triptych.training.schedules import Decayed

PLAN = {"steps_per_epoch": 25, "epochs": 4, "alpha": 0.1, "beta": 0.2}
"""100 steps; the bend is at step 20, before the first epoch ends."""


@pytest.mark.parametrize(
    ("step", "expected"), [(0, 1.0), (5, 0.775), (10, 0.55), (20, 0.1), (40, 0.075), (60, 0.05), (100, 0.0)]
)
def test_lambda_has_the_values_that_one_computes_by_hand(answer, step, expected):
    found = answer.source_weight(step, **PLAN)
    assert found == pytest.approx(expected), f"lambda after {step} of 100 steps, alpha 0.1, beta 0.2"


def test_lambda_falls_at_every_step_and_not_once_an_epoch(answer):
    values = [answer.source_weight(step, **PLAN) for step in range(101)]
    for step, (before, after) in enumerate(pairwise(values)):
        assert after < before, f"lambda must be lower after step {step + 1} than after step {step}"


def test_lambda_is_that_of_triptych(answer):
    theirs = Decayed(alpha=0.3, beta=0.5)
    for step in (0, 3, 14, 15, 16, 29):
        found = answer.source_weight(step, steps_per_epoch=10, epochs=3, alpha=0.3, beta=0.5)
        assert found == pytest.approx(theirs(step / 30)), f"lambda after {step} of 30 steps, alpha 0.3, beta 0.5"


@pytest.fixture
def batch():
    """Two pairs of unlike lengths: 3 + 1 source tokens, 2 + 4 target tokens."""
    generator = torch.Generator().manual_seed(0)
    src = torch.tensor([[3, 1, 4], [2, 0, 0]])
    tgt = torch.tensor([[4, 2, 0, 0], [1, 3, 3, 2]])
    logits = [torch.randn(*ids.shape, 5, generator=generator).double() for ids in (src, tgt)]
    return logits[0], src, logits[1], tgt


def nll(logits, ids):
    """Negative log-likelihoods of the tokens that are not padding, number by number."""
    return [
        log(sum(exp(x) for x in row)) - row[token]
        for rows, tokens in zip(logits.tolist(), ids.tolist(), strict=True)
        for row, token in zip(rows, tokens, strict=True)
        if token != 0
    ]


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_the_loss_is_that_of_the_equation(answer, batch, weight):
    src_logits, src, tgt_logits, tgt = batch
    source, target = nll(src_logits, src), nll(tgt_logits, tgt)
    found = float(answer.decayed_loss(*batch, weight))
    if weight == 1.0:
        together = (sum(source) + sum(target)) / (len(source) + len(target))
        assert found != pytest.approx(together), "L_AE and L_MT are means over their own tokens, not one mean over all"
    expected = weight * sum(source) / len(source) + sum(target) / len(target)
    assert found == pytest.approx(expected), f"lambda = {weight}: means over tokens (not sentences), without padding"


def test_the_loss_is_that_of_triptych(answer, batch):
    """The logits are given as hidden vectors, and the output matrix is the identity."""
    src_logits, src, tgt_logits, tgt = batch
    hidden = torch.cat([src_logits[src != 0], tgt_logits[tgt != 0]])
    targets = torch.cat([src[src != 0], tgt[tgt != 0]])
    prediction = Prediction(hidden, torch.eye(5).double(), targets, num_source=4)
    theirs = TranslationLoss(label_smoothing=0.0, mean="terms", autoencode=lambda _: 0.4)
    expected = theirs(prediction, torch.tensor([4, 6]), 0.5).loss
    assert float(answer.decayed_loss(*batch, 0.4)) == pytest.approx(float(expected), rel=1e-5)


def test_padding_has_no_gradient_and_every_token_has_one(answer, batch):
    src_logits, src, tgt_logits, tgt = (x.requires_grad_() if x.is_floating_point() else x for x in batch)
    loss = answer.decayed_loss(src_logits, src, tgt_logits, tgt, 0.5)
    assert loss.shape == (), f"the loss must be one number, not of shape {tuple(loss.shape)}"
    loss.backward()
    for logits, ids, side in ((src_logits, src, "source"), (tgt_logits, tgt, "target")):
        size = logits.grad.abs().sum(dim=-1)
        assert float(size[ids == 0].max()) == 0, f"padding of the {side} has a gradient"
        assert float(size[ids != 0].min()) > 0, f"a token of the {side} has no gradient"
