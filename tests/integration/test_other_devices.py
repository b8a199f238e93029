"""A training goes on with other devices than it began on, and sees the same batches."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_trainings import CPUS, log, stream, train, train_and_terminate

# Rounding may turn a unit of ReLU on or off, and its gradient with it.
SAME = ["model=transformer", "model.activation=gelu", "model.dropout=0", "batch.per_step=2"]
ONE, TWO = ["strategy=cpu"], ["strategy=ddp", *CPUS]


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(TWO, ONE), (ONE, TWO)], ids=["fewer", "more"])
def test_it_trains_as_one_that_kept_its_devices(before: list[str], after: list[str], tmp_path: Path) -> None:
    train(tmp_path / "whole", *ONE, *SAME)
    train_and_terminate(tmp_path / "moved", *before, *SAME, after=6)
    train(tmp_path / "moved", *after, *SAME)
    assert stream(tmp_path / "moved") == stream(tmp_path / "whole")
    moved, whole = log(tmp_path / "moved"), log(tmp_path / "whole")
    assert [line["step"] for line in moved] == [line["step"] for line in whole]
    for one, other in zip(moved, whole, strict=True):
        assert one == pytest.approx(other, rel=1e-4)
