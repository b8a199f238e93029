"""The epochs of a large corpus are planned by processes of their own, with the batches that any corpus gets."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from triptych.data import planned_epochs
from triptych.data.batching import Stream
from triptych.data.epoch_plan import plan_epoch
from triptych.data.planned_epochs import StoredEpochs
from triptych.errors import UserError

LENGTHS = np.random.default_rng(0).integers(1, 12, (300, 2), dtype=np.int32)


def test_its_batches_are_those_of_a_small_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"tokens": 60, "seed": 3, "size": 4}
    small = Stream(LENGTHS, **settings)
    monkeypatch.setattr(planned_epochs, "LARGE", 300)
    large = Stream(LENGTHS, **settings, cache=tmp_path)
    steps = 4 * small.epoch_steps
    for ours, theirs in zip(islice(large.windows(0, steps), steps), islice(small.windows(), steps), strict=True):
        assert [rows.tolist() for rows in ours.batches] == [rows.tolist() for rows in theirs.batches]
        assert ours.tokens.tolist() == theirs.tokens.tolist()
    assert {path.name for path in tmp_path.glob("plans/*/epoch-*")} == {f"epoch-{epoch}" for epoch in range(4)}
    monkeypatch.setattr(planned_epochs, "PROCESS", "there.is.none")
    another = StoredEpochs(LENGTHS, tokens=60, seed=3, cache=tmp_path)
    for epoch in (2, 7):  # one that is stored, and one that this process must plan itself
        planned = plan_epoch(LENGTHS, 60, 3, epoch)
        assert [rows.tolist() for rows in another.batches(epoch)] == [rows.tolist() for rows in planned]


def test_a_pair_that_no_batch_takes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"raise batch\.tokens"):
        StoredEpochs(LENGTHS, tokens=5, seed=3, cache=tmp_path).batches(0)
