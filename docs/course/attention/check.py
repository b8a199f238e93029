"""The checks of lab 1."""

import sys
from math import exp, tanh
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))
from conftest import VOCABULARY, batch  # noqa: F401

SIZE = 8
LENGTHS = (5, 3, 1)


@pytest.fixture
def model(answer):
    torch.manual_seed(0)
    return answer.ByHand(vocabulary=VOCABULARY, size=SIZE).eval().double()


@pytest.fixture
def attended(model):
    """State, memory, mask, and what attend makes of them."""
    generator = torch.Generator().manual_seed(1)
    state = torch.randn(3, SIZE, generator=generator).double()
    memory = torch.randn(3, max(LENGTHS), SIZE, generator=generator).double()
    is_token = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    with torch.no_grad():
        return state, memory, is_token, *model.attend(state, memory, is_token)


def test_shapes(attended):
    _, memory, is_token, context, weights = attended
    assert weights.shape == is_token.shape, "the weights need a number for each sentence and source position: (B, S)"
    assert context.shape == memory[:, 0].shape, "the context is one vector for each sentence: (B, H)"


def test_padding_has_no_weight(attended):
    _, _, is_token, _, weights = attended
    assert float(weights[~is_token].abs().max()) == 0, "the weights on padding must be 0: mask it before the softmax"


def test_the_weights_of_a_sentence_sum_to_1(attended):
    sums = attended[4].sum(dim=-1)
    assert torch.allclose(sums, torch.ones_like(sums)), (
        f"the weights of each sentence must sum to 1, not {sums.tolist()}"
    )


def test_the_weights_are_those_of_the_equations(model, attended):
    """Computed number by number, without tensors."""
    state, memory, _, context, weights = attended
    W, b, U, v = (x.tolist() for x in (model.W.weight, model.W.bias, model.U.weight, model.v.weight[0]))
    dimensions = range(SIZE)

    def score(s, h):
        inner = [b[i] + sum(W[i][k] * s[k] + U[i][k] * h[k] for k in dimensions) for i in dimensions]
        return sum(v[i] * tanh(inner[i]) for i in dimensions)

    for row, length in enumerate(LENGTHS):
        h = memory[row, :length].tolist()
        powers = [exp(score(state[row].tolist(), h_j)) for h_j in h]
        expected = [power / sum(powers) for power in powers]
        mean = [sum(weight * h_j[k] for weight, h_j in zip(expected, h, strict=True)) for k in dimensions]
        assert weights[row, :length].tolist() == pytest.approx(expected), "softmax of v^T tanh(W s + U h_j)"
        assert context[row].tolist() == pytest.approx(mean), "the sum of the h_j, each times its weight"


# The contract of every architecture (tests/unit/models/test_contract.py) holds for the whole model too.
from unit.models.test_contract import (  # noqa: E402, F401
    test_every_parameter_learns,
    test_future_changes_nothing,
    test_hypotheses_keep_their_own_past,
    test_padding_and_neighbours_change_nothing,
    test_steps_give_the_logits_of_forward,
)
