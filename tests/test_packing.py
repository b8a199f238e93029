"""Tokens end to end: what fills them up to a round number of rows changes nothing."""

from __future__ import annotations

import pytest
import torch
from conftest import build_model, random_batch

from triptych.layers import packing as sizes_of_kernels
from triptych.layers.packing import COLUMNS, ROWS, Packing, visible, widen


@pytest.mark.parametrize("lengths", [[40, 40, 30], [7, 3], [5, 5], [64, 63], [1, 90]])
def test_tokens_come_first_and_return_to_their_places(lengths: list[int]) -> None:
    width, sizes = max(lengths), torch.tensor(lengths)
    packing = Packing.of(sizes, sizes.numpy(), width)
    x = torch.randn(len(lengths), width, 2)
    seen = visible(sizes, width)
    rows = packing.pack(x)
    assert torch.equal(packing.tokens(rows), x[seen])
    assert len(rows) == min(-(-sum(lengths) // ROWS) * ROWS, len(lengths) * width)
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


def test_sizes_return() -> None:
    found = set()
    for width in range(COLUMNS * 4 + 1, COLUMNS * 5 + 1):
        ids = widen(torch.ones(20, width, dtype=torch.long))
        assert (ids[:, :width] == 1).all()
        assert (ids[:, width:] == 0).all()
        lengths = torch.full((20,), width)
        lengths[::2] = 5
        rows = Packing.of(lengths, lengths.numpy(), ids.shape[1]).pack(ids)
        found.add((ids.shape[1], len(rows) % ROWS))
    assert found == {(COLUMNS * 5, 0)}


@pytest.mark.parametrize("model", ["transformer", "lm4mt"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rope"])
def test_wider_padding_changes_nothing(model: str, positions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it ask for more of a learned table than the sentences do."""
    pairs = [(11, 9), (3, 12), (8, 8)]
    longest = {"transformer": 13, "lm4mt": 22}[model]
    built = build_model(f"model={model}", f"model.positions={positions}", f"model.max_length={longest}")
    batch = random_batch(pairs)
    with torch.no_grad():
        padded = built(batch)
        monkeypatch.setattr(sizes_of_kernels, "COLUMNS", 1)
        exact = built(batch)
    assert torch.allclose(padded.hidden, exact.hidden, atol=1e-12)
    assert torch.equal(padded.targets, exact.targets)
