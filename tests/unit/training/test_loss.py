"""The loss against figures made by hand, and against PyTorch's."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from conftest import build_model, random_batch

from triptych.contract.batch import Batch, Prediction
from triptych.errors import UserError
from triptych.kernels import linear_cross_entropy as loss_module
from triptych.kernels.linear_cross_entropy import linear_cross_entropy
from triptych.training.loss import TranslationLoss
from triptych.training.schedules import Constant, Cooldown, Cosine, Decayed, InverseSquareRoot, Noam, Piecewise

HALF = Piecewise(points=[[0, 0.5]])


def test_hand_computed_joint_loss() -> None:
    """Two source tokens and one target token over three pieces: the identity makes hidden vectors the logits."""
    hidden = torch.tensor([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    prediction = Prediction(hidden, torch.eye(3), torch.tensor([0, 0, 2]), num_source=2)
    nll_0 = math.log(math.e + 2) - 1
    nll_1 = math.log(math.e**2 + 2) - 0
    nll_2 = math.log(math.e**3 + 2) - 3
    smooth_2 = math.log(math.e**3 + 2) - (0 + 0 + 3) / 3
    parts = TranslationLoss(label_smoothing=0.1, mean="terms", autoencode=HALF)(prediction, torch.tensor([2, 1]), 0.3)
    expected = 0.5 * (nll_0 + nll_1) / 2 + 0.9 * nll_2 + 0.1 * smooth_2
    assert parts.loss.item() == pytest.approx(expected, rel=1e-6)
    assert parts.target_nll.item() == pytest.approx(nll_2, rel=1e-6)
    assert parts.source_nll.item() == pytest.approx(nll_0 + nll_1, rel=1e-6)
    assert (parts.target_tokens, parts.source_tokens, parts.lambda_) == (1, 2, 0.5)


@pytest.mark.parametrize(("num_source", "tokens"), [(2, 3), (0, 1)])
def test_one_mean_over_the_sequence(num_source: int, tokens: int) -> None:
    """A language model's loss; a model that predicts no source has the mean over its target alone."""
    hidden, targets = torch.eye(3)[3 - 1 - num_source :], torch.tensor([0, 0, 2])[2 - num_source :]
    prediction = Prediction(hidden, torch.eye(3), targets, num_source)
    loss = TranslationLoss(label_smoothing=0.0, mean="sequence", autoencode=lambda _: 1.0)
    expected = F.cross_entropy(hidden, targets, reduction="sum") / tokens
    assert loss(prediction, torch.tensor([2, 1]), 0.0).loss.item() == pytest.approx(expected.item(), rel=1e-6)


def test_one_mean_stays_that_of_the_sequence_where_lambda_is_zero() -> None:
    """The weight of L_MT does not leap when the decay ends."""
    prediction = Prediction(torch.eye(3), torch.eye(3), torch.tensor([0, 0, 2]), 2)
    loss = TranslationLoss(label_smoothing=0.0, mean="sequence", autoencode=lambda _: 0.0)
    expected = F.cross_entropy(torch.eye(3)[2:], torch.tensor([2]), reduction="sum") / 3
    assert loss(prediction, torch.tensor([2, 1]), 1.0).loss.item() == pytest.approx(expected.item(), rel=1e-6)


def test_half_precision_keeps_the_gradient_of_a_large_batch() -> None:
    """A token's share of 30,000, spread over 4,000 pieces, is less than the least number that float16 holds."""
    torch.manual_seed(0)
    hidden = torch.randn(64, 8, requires_grad=True)
    weight = torch.randn(4000, 8, requires_grad=True)
    targets, shares, eps = torch.randint(4000, (64,)), torch.full((64,), 1 / 30_000), torch.full((64,), 0.1)
    exact, _ = linear_cross_entropy(hidden, weight, targets, shares, eps)
    with torch.autocast("cpu", dtype=torch.float16):
        half, _ = linear_cross_entropy(hidden, weight, targets, shares, eps)
    for found, wanted in zip(
        torch.autograd.grad(half, [hidden, weight]), torch.autograd.grad(exact, [hidden, weight]), strict=True
    ):
        assert float((found - wanted).norm() / wanted.norm()) < 0.01


@pytest.mark.parametrize("chunk", [64 * 17, 10_000])  # logits of 64 rows, so three chunks, and of all rows
@pytest.mark.parametrize("part", [40, 10_000])
def test_agrees_with_pytorch(chunk: int, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(loss_module.CHUNK_ELEMENTS, "cpu", chunk)
    monkeypatch.setitem(loss_module.PART_ELEMENTS, "cpu", part)
    torch.manual_seed(0)
    hidden = torch.randn(150, 8, requires_grad=True)
    weight = torch.randn(17, 8, requires_grad=True)
    targets = torch.randint(17, (150,))
    ours, nll = linear_cross_entropy(hidden, weight, targets, torch.full((150,), 1 / 150), torch.full((150,), 0.2))
    expected = F.cross_entropy(hidden @ weight.T, targets, label_smoothing=0.2)
    torch.testing.assert_close(ours, expected)
    torch.testing.assert_close(nll, F.cross_entropy(hidden @ weight.T, targets, reduction="none"))
    for found, wanted in zip(
        torch.autograd.grad(ours * 3, [hidden, weight]),
        torch.autograd.grad(expected * 3, [hidden, weight]),
        strict=True,
    ):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_without_lambda_source_positions_have_no_gradient() -> None:
    model = build_model("model=lm4mt")
    prediction = model(random_batch([(5, 4), (3, 6)]))
    prediction.hidden.retain_grad()
    batch_tokens = torch.tensor([8, 12])
    TranslationLoss(label_smoothing=0.1, mean="terms", autoencode=Piecewise(points=[[0, 0]]))(
        prediction, batch_tokens, 0.5
    ).loss.backward()
    gradient = prediction.hidden.grad
    assert gradient is not None
    assert prediction.num_source == 8
    assert torch.all(gradient[:8] == 0)
    assert torch.all(gradient[8:].abs().sum(-1) > 0)


def test_accumulated_batches_give_the_loss_of_one() -> None:
    """Each term is a mean over the whole optimizer step, however it is cut."""
    model = build_model("model=lm4mt")
    loss = TranslationLoss(label_smoothing=0.1, mean="terms", autoencode=HALF)
    whole = random_batch([(5, 4), (2, 9), (7, 3)])
    expected = loss(model(whole), whole.step_tokens, 0.5).loss
    shares = []
    for row in range(3):
        src = whole.src[row, : whole.src_lengths[row] - 1].tolist()
        tgt = whole.tgt[row, 1 : whole.tgt_lengths[row] - 1].tolist()
        shares.append(loss(model(Batch.from_ids([src], [tgt])), whole.step_tokens, 0.5).loss)
    torch.testing.assert_close(sum(shares), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("progress", "expected"), [(0, 1.0), (0.125, 0.55), (0.25, 0.1), (0.625, 0.05), (1, 0.0)])
def test_decayed_lambda(progress: float, expected: float) -> None:
    """alpha 0.1, beta 0.25: 1 to 0.1 over the first quarter, 0.1 to 0 over the rest."""
    assert Decayed(alpha=0.1, beta=0.25)(progress) == pytest.approx(expected)


@pytest.mark.parametrize(("beta", "early", "late"), [(0.0, 0.1, 0.05), (1.0, 1.0, 0.55)])
def test_decayed_lambda_at_the_ends_of_beta(beta: float, early: float, late: float) -> None:
    decayed = Decayed(alpha=0.1, beta=beta)
    assert (decayed(1e-12), decayed(0.5)) == (pytest.approx(early), pytest.approx(late))


@pytest.mark.parametrize("points", [[], [[0.5, 1], [0.2, 1]], [[0, -1]], [[0, 1], [2, 0]]])
def test_impossible_points(points: list[list[float]]) -> None:
    with pytest.raises(UserError, match="points"):
        Piecewise(points=points)


def test_learning_rates() -> None:
    noam = Noam(factor=1, d_model=512, warmup=4000)
    assert noam(4000, 0) == pytest.approx(512**-0.5 * 4000**-0.5)
    assert noam(2000, 0) == pytest.approx(noam(4000, 0) / 2)
    assert noam(16000, 0) == pytest.approx(noam(4000, 0) / 2)
    cosine = Cosine(peak=6e-4, floor=6e-5, warmup=2000)
    assert cosine(1000, 10_000) == pytest.approx(3e-4)
    assert cosine(2000, 10_000) == pytest.approx(6e-4)
    assert cosine(6000, 10_000) == pytest.approx(3.3e-4)
    assert cosine(10_000, 10_000) == pytest.approx(6e-5)
    assert InverseSquareRoot(peak=1e-3, warmup=100)(400, 0) == pytest.approx(5e-4)
    assert Constant(peak=1e-3, warmup=10)(5, 0) == pytest.approx(5e-4)
    assert Constant(peak=1e-3, warmup=0)(5, 0) == 1e-3


def test_the_cooldown_by_hand() -> None:
    """100 steps, the last 20 of them a cooldown: 1 - sqrt of the share of the cooldown that is done."""
    cooldown = Cooldown(peak=1e-3, warmup=10, cooldown=0.2)
    assert cooldown(5, 100) == pytest.approx(5e-4)
    assert [cooldown(step, 100) for step in (10, 80, 81)] == [1e-3] * 3
    assert cooldown(86, 100) == pytest.approx(1e-3 * (1 - (5 / 20) ** 0.5))
    assert cooldown(100, 100) == pytest.approx(1e-3 * (1 - (19 / 20) ** 0.5))
    assert cooldown(101, 100) == 0, "what PyTorch's scheduler computes after the last step"
    assert [cooldown(step, 100) for step in range(1, 82)] == [cooldown(step, 500) for step in range(1, 82)]
    assert Cooldown(peak=1e-3, warmup=0, cooldown=0)(101, 100) == 1e-3
    with pytest.raises(UserError, match="at most 1"):
        Cooldown(peak=1e-3, warmup=0, cooldown=1.5)
