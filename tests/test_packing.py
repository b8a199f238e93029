"""Tokens end to end: what fills them up to a round number of rows changes nothing."""

from __future__ import annotations

import pytest
import torch

from triptych.layers.packing import MULTIPLE, Packing, visible


@pytest.mark.parametrize("lengths", [[40, 40, 30], [7, 3], [5, 5], [64, 63], [1, 90]])
def test_tokens_come_first_and_return_to_their_places(lengths: list[int]) -> None:
    width, sizes = max(lengths), torch.tensor(lengths)
    packing = Packing.of(sizes, sizes.numpy(), width)
    x = torch.randn(len(lengths), width, 2)
    seen = visible(sizes, width)
    rows = packing.pack(x)
    assert torch.equal(packing.tokens(rows), x[seen])
    assert len(rows) == min(-(-sum(lengths) // MULTIPLE) * MULTIPLE, len(lengths) * width)
    assert torch.equal(packing.pad(rows)[seen], x[seen])


def test_gradients_are_those_of_the_places() -> None:
    lengths = torch.tensor([40, 31])
    packing = Packing.of(lengths, lengths.numpy(), 40)
    x = torch.randn(2, 40, 3, requires_grad=True)
    weights = torch.randn(71, 3)
    (packing.tokens(packing.pack(x)) * weights).sum().backward()
    expected = torch.zeros(2, 40, 3)
    expected[visible(lengths, 40)] = weights
    assert torch.equal(x.grad, expected)
    weights = torch.randn(2, 40, 3)
    (packing.pad(rows := packing.pack(x.detach()).requires_grad_()) * weights).sum().backward()
    assert torch.equal(rows.grad, packing.pack(weights))
