"""One cache of keys and values for all hypotheses of a sentence."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from triptych.contract.decoder_state import DecoderState
from triptych.layers.kv_cache import STEPS, KVCache, make_room, see_newest

SENTENCES, HEADS, SIZE = 2, 3, 5


def search(parents: list[list[list[int]]]) -> tuple[list[list[list[int]]], list[list[list[int]]], int]:
    """Take a step for each choice of parents [step][sentence][hypothesis], with a key that is the token's number.

    Returns:
        Sorted, the numbers that the last step's hypotheses should see, and those that they see, [sentence][hypothesis];
        and the positions of the cache.
    """
    state, number = DecoderState({}, {"visible": torch.empty(SENTENCES, 0, dtype=torch.bool)}), 0
    expected: list[list[list[int]]] = [[[]] for _ in range(SENTENCES)]
    for choice in parents:
        width = len(choice[0])
        before = len(expected[0])
        rows = torch.tensor([[before * s + parent % before for parent in row] for s, row in enumerate(choice)])
        state = state.select_hypotheses(rows.flatten())
        numbers = torch.arange(number, number + SENTENCES * width).view(SENTENCES, width)
        number += SENTENCES * width
        expected = [
            [[*expected[s][parent % before], int(numbers[s, w])] for w, parent in enumerate(row)]
            for s, row in enumerate(choice)
        ]
        kv_cache = KVCache.load(state, 0)
        visible = see_newest(make_room([kv_cache], state.hypothesis["visible"], width), width)
        new = numbers[:, None, :, None].expand(-1, HEADS, -1, SIZE)
        key, value = kv_cache.append(new, -new)
        assert torch.equal(key, -value)
        assert torch.equal(key, key[:, :1, :, :1].expand_as(key))
        state = DecoderState(kv_cache.tensors(0), {"visible": visible})
    found = [[sorted(key[s, 0, visible[width * s + w], 0].tolist()) for w in range(width)] for s in range(SENTENCES)]
    return expected, found, key.shape[2]


@st.composite
def choices(draw: st.DrawFn) -> list[list[list[int]]]:
    widths = [1, *[draw(st.integers(1, 4))] * draw(st.integers(0, 20))]
    return [[[draw(st.integers(0, 3)) for _ in range(width)] for _ in range(SENTENCES)] for width in widths]


@given(choices())
def test_each_hypothesis_sees_its_own_past(parents: list[list[list[int]]]) -> None:
    expected, found, _ = search(parents)
    assert found == expected


def test_positions_that_no_hypothesis_sees_any_more_are_dropped() -> None:
    steps, width = 40, 4
    descended_from_one = [[[0] * width] * SENTENCES] * steps
    assert search(descended_from_one)[2] <= steps + max(STEPS * width, steps // 4) + width
