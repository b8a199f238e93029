"""What several processes have seen is counted together, and goes on with another number of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from triptych.contract.batch import Batch
from triptych.training.data_seen import DataSeen
from triptych.training.window import share_of

BATCHES = [Batch.from_ids([[5, 6][: 1 + i % 2]], [[7] * (1 + i % 3)]) for i in range(48)]
PER_STEP = 12
COUNTS = st.sampled_from([1, 2, 3, 4, 6])


def seen(parts: list[DataSeen], steps: range) -> list[dict[str, Any]]:
    """The states of processes that go on from parts, and see the batches of some steps by turns."""
    for step in steps:
        for i in range(PER_STEP):
            number, part = step * PER_STEP + i, parts[i % len(parts)]
            part.update(BATCHES[number], number, autoencoded=True)
            is_last = i >= PER_STEP - len(parts)
            part.record_stream(step + is_last)  # as Lightning counts the optimizer steps done after a batch
    return [part.state_dict() for part in parts]


@given(COUNTS, COUNTS, st.integers(0, 4))
def test_what_is_seen_does_not_depend_on_how_many_see_it(before: int, after: int, change: int) -> None:
    whole = DataSeen.from_state(seen([DataSeen()], range(4))[0])
    states = seen([DataSeen() for _ in range(before)], range(change))
    parts = [DataSeen.of_rank(states, rank, after) for rank in range(after)]
    found = DataSeen.sum(map(DataSeen.from_state, seen(parts, range(change, 4))))
    assert found.pairs == whole.pairs
    assert found.stream == whole.stream
    assert found.stream_after == whole.stream_after
    assert set(found.stream_after) == {1, 2, 4}


@given(COUNTS, COUNTS, st.integers(0, 3))
def test_every_rank_gets_its_share_of_the_losses_of_each_step(before: int, after: int, steps: int) -> None:
    states = [
        [{"step": step, "shape": str(i)} for step in range(steps) for i in range(rank, PER_STEP, before)]
        for rank in range(before)
    ]
    shares = [share_of(states, rank, after) for rank in range(after)]
    if before == after:
        assert shares == states
    assert sorted((one["step"], int(one["shape"])) for share in shares for one in share) == [
        (step, i) for step in range(steps) for i in range(PER_STEP)
    ]
    for share in shares:
        assert Counter(one["step"] for one in share) == dict.fromkeys(range(steps), PER_STEP // after)
