"""The checks of lab 5: the equations, then the contract of every architecture (tests/unit/models/test_contract.py)."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))
from conftest import VOCABULARY, batch, random_batch  # noqa: F401

SIZE = 8


@pytest.fixture
def model(answer):
    torch.manual_seed(0)
    return answer.Summary(vocabulary=VOCABULARY, size=SIZE).eval().double()


def gru(cell, x, s):
    """Equations 5 to 8 of Cho et al. 2014, with the gates as in PyTorch."""
    (xr, xz, xn), (sr, sz, sn) = (
        (v @ weight.T + bias).chunk(3)
        for v, weight, bias in ((x, cell.weight_ih, cell.bias_ih), (s, cell.weight_hh, cell.bias_hh))
    )
    reset, update = torch.sigmoid(xr + sr), torch.sigmoid(xz + sz)
    return update * s + (1 - update) * torch.tanh(xn + reset * sn)


@torch.no_grad()
def test_the_hidden_vectors_are_those_of_the_equations(model):
    pair = random_batch([(4, 3)])
    c = torch.zeros(SIZE).double()
    for token in pair.src[0]:
        c = gru(model.encoder, model.src.weight[token], c)
    assert torch.allclose(model.encode(pair.src)[0], c), "encode: c is the encoder's state after the last token"
    state, expected = torch.tanh(model.first(c)), []
    for token in pair.tgt[0, :-1]:
        state = gru(model.decoder, torch.cat([model.tgt.weight[token], c]), state)
        expected.append(torch.tanh(model.combine(torch.cat([state, c]))))
    hidden = model(pair).hidden
    assert hidden.shape == (4, SIZE), (
        f"forward: a vector for each predicted token, (4, {SIZE}), not {tuple(hidden.shape)}"
    )
    assert torch.allclose(hidden, torch.stack(expected)), "forward: the equations of the class, step by step"


from unit.models.test_contract import (  # noqa: E402, F401
    test_embedding_parameters_are_parameters,
    test_every_parameter_learns,
    test_flops_are_those_of_the_products,
    test_future_changes_nothing,
    test_hypotheses_keep_their_own_past,
    test_padding_and_neighbours_change_nothing,
    test_saving_and_loading_gives_the_same_bits,
    test_steps_give_the_logits_of_forward,
    test_targets_are_the_tokens_of_the_batch,
)
