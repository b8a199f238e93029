"""The checks of lab 2."""

from math import cos, sin

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention


def test_padding_mask(answer):
    mask = answer.padding_mask(torch.tensor([3, 1]), 4)
    assert mask.shape == (2, 1, 4), f"the shape must be (B, 1, S), here (2, 1, 4), not {tuple(mask.shape)}"
    assert mask.dtype == torch.bool, "the mask must hold booleans"
    assert mask[:, 0].tolist() == [[True, True, True, False], [True, False, False, False]], (
        "True where there is a token"
    )


def test_causal_mask(answer):
    mask = answer.causal_mask(4)
    assert mask.shape == (4, 4), f"the shape must be (T, T), here (4, 4), not {tuple(mask.shape)}"
    assert mask.dtype == torch.bool, "the mask must hold booleans"
    for i in range(4):
        assert not mask[i, i + 1 :].any(), f"position {i} looks at a later position"
        assert mask[i, i], f"position {i} must be able to look at itself"
        assert mask[i, :i].all(), f"position {i} must be able to look at all positions before it"


@pytest.fixture
def vectors():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(2, 4, 6, generator=generator).double() for _ in range(3)]


def test_attention_without_a_mask_is_that_of_pytorch(answer, vectors):
    everything = torch.ones(4, 4, dtype=torch.bool)
    found = answer.attention(*vectors, everything)
    assert found.shape == (2, 4, 6), f"the shape must be (B, T, D), here (2, 4, 6), not {tuple(found.shape)}"
    unscaled = scaled_dot_product_attention(*vectors, scale=1.0)
    assert not torch.allclose(found, unscaled), "the scores must be divided by sqrt(D)"
    assert torch.allclose(found, scaled_dot_product_attention(*vectors)), "softmax over the keys, then times the values"


@pytest.mark.parametrize("kind", ["padding", "causal"])
def test_attention_with_a_mask_is_that_of_pytorch(answer, vectors, kind):
    lengths = torch.tensor([4, 2])
    mask = answer.causal_mask(4) if kind == "causal" else answer.padding_mask(lengths, 4)
    expected = scaled_dot_product_attention(*vectors, attn_mask=mask)
    assert torch.allclose(answer.attention(*vectors, mask), expected), f"masked keys must have weight 0 ({kind} mask)"


def test_a_later_token_changes_no_earlier_output(answer, vectors):
    query, key, value = vectors
    before = answer.attention(query, key, value, answer.causal_mask(4))
    key[:, 2], value[:, 2] = 5.0, 5.0
    after = answer.attention(query, key, value, answer.causal_mask(4))
    assert torch.equal(before[:, :2], after[:, :2]), "positions 0 and 1 have seen position 2"
    assert not torch.allclose(before[:, 2:], after[:, 2:]), "positions 2 and 3 must see position 2"


def test_positions_are_those_of_the_formula(answer):
    """Computed number by number, without tensors."""
    found = answer.positions(12, 8)
    assert found.shape == (12, 8), f"the shape must be (length, size), here (12, 8), not {tuple(found.shape)}"
    for pos in range(12):
        for i in range(4):
            angle = pos / 10_000 ** (2 * i / 8)
            pair = found[pos, 2 * i : 2 * i + 2].tolist()
            where = f"position {pos}, columns {2 * i} and {2 * i + 1}"
            assert pair == pytest.approx([sin(angle), cos(angle)], abs=1e-5), f"{where}: sine, then cosine"
