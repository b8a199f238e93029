"""Tokens end to end: what fills them up to a round number of rows changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from conftest import VOCABULARY, build_model, random_batch
from torch.utils._python_dispatch import TorchDispatchMode

from triptych.kernels import linear_cross_entropy as loss_module
from triptych.layers import sequence_layout
from triptych.layers.sequence_layout import COLUMNS, ROWS, SequenceLayout, token_mask


@pytest.mark.parametrize("lengths", [[40, 40, 30], [7, 3], [5, 5], [64, 63], [1, 90]])
def test_tokens_come_first_and_return_to_their_places(lengths: list[int]) -> None:
    width, sizes = max(lengths), torch.tensor(lengths)
    layout = SequenceLayout.from_lengths(sizes, sizes.numpy(), width)
    x = torch.randn(len(lengths), width, 2)
    seen = token_mask(sizes, width)
    rows = layout.unpad(x)
    assert torch.equal(layout.without_filling(rows), x[seen])
    assert len(rows) == min(-(-sum(lengths) // ROWS) * ROWS, len(lengths) * width)
    assert torch.equal(layout.pad(rows)[seen], x[seen])


def test_gradients_are_those_of_the_places() -> None:
    lengths = torch.tensor([40, 31])
    layout = SequenceLayout.from_lengths(lengths, lengths.numpy(), 40)
    x = torch.randn(2, 40, 3, requires_grad=True)
    weights = torch.randn(71, 3)
    (layout.select_tokens(x) * weights).sum().backward()
    expected = torch.zeros(2, 40, 3)
    expected[token_mask(lengths, 40)] = weights
    assert torch.equal(x.grad, expected)
    weights = torch.randn(2, 40, 3)
    (layout.pad(rows := layout.unpad(x.detach()).requires_grad_()) * weights).sum().backward()
    assert torch.equal(rows.grad, layout.unpad(weights))


class Products(TorchDispatchMode):
    """Notes the sizes of what is multiplied."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[int] = []
        self.batched: list[tuple[int, int]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default):
            self.rows.append(args[-2].shape[0])
        if func is torch.ops.aten.bmm.default:
            self.batched.append((args[0].shape[1], args[1].shape[2]))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("model", ["transformer", "lm4mt", "lm4mt model.source_attention=bidirectional"])
def test_sizes_return(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of all products of a training step but the ones by a weight's own rows, with several chunks of logits."""
    monkeypatch.setitem(loss_module.CHUNK_ELEMENTS, "cpu", 100 * VOCABULARY.tgt_size)
    built = build_model(*f"model={model}".split()).train()
    batch = random_batch([(19, 17), (9, 21), (13, 12)] * 7)
    sides = {size for parameter in built.parameters() for size in parameter.shape}
    with Products() as products:
        prediction = built(batch)
        loss, _ = loss_module.linear_cross_entropy(
            prediction.hidden,
            prediction.weight,
            prediction.targets,
            torch.ones(len(prediction.targets)),
            torch.zeros(len(prediction.targets)),
        )
        loss.backward()
    assert {rows % ROWS for rows in products.rows if rows not in sides} == {0}
    heads = {built.state_dict()[name].shape[0] // 4 for name in built.state_dict() if name.endswith("query.weight")}
    assert {size % COLUMNS for pair in products.batched for size in pair if size not in heads} == {0}


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
        monkeypatch.setattr(sequence_layout, "COLUMNS", 1)
        exact = built(batch)
    assert torch.allclose(padded.hidden, exact.hidden, rtol=0, atol=1e-12)
    assert torch.equal(padded.targets, exact.targets)
