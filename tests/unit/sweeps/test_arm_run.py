"""What the process of one arm says of it to the sweep."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from triptych.sweeps import arm_run
from triptych.sweeps.arms import FAILED, FINISHED, plan_arms, set_status
from triptych.sweeps.side_by_side import NOT_FINISHED


@pytest.mark.parametrize(("status", "expected"), [(FINISHED, 0), (FAILED, NOT_FINISHED)])
def test_an_arm_that_diverged_is_finished(
    status: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no validation loss, as one that has failed."""
    (arm,) = plan_arms(tmp_path, "study", [["seed=1"]])

    def diverge(*_: Any, **__: Any) -> None:
        set_status(tmp_path, arm, status)

    monkeypatch.setattr(arm_run, "run_arm", diverge)
    for name in ("take_over", "send_to_sweep"):
        monkeypatch.setattr(arm_run, name, lambda *_: None)
    monkeypatch.setattr(arm_run, "with_own_folders", lambda *_: nullcontext())
    queued: Any = SimpleNamespace(arm=arm, run_config=SimpleNamespace(config=SimpleNamespace(output=str(tmp_path))))
    queued.run_config.overrides = ()
    peaks: Any = None
    assert arm_run.run_beside(queued, folders=[], peaks=peaks, wait=False) == expected
