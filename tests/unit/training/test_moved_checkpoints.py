"""A run whose folder was moved goes on with what it knows of its checkpoints."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

from triptych.training.callbacks.checkpoints import best_and_last


@pytest.mark.parametrize("keep", [1, 3])
def test_the_best_score_and_the_kept_paths_move_along(tmp_path: Path, keep: int) -> None:
    """The score was forgotten, and the next checkpoint replaced a better one."""
    before, now = tmp_path / "before", tmp_path / "now"
    for was, found in zip(*(best_and_last(place, monitor="loss", keep=keep) for place in (before, now)), strict=True):
        was.best_model_score = torch.tensor(1.5)
        was.best_model_path = was.kth_best_model_path = f"{before}/one.ckpt"
        was.best_k_models = {f"{before}/one.ckpt": torch.tensor(1.5), f"{before}/two.ckpt": torch.tensor(2.0)}
        state: dict[str, Any] = copy.deepcopy(was.state_dict())
        found.load_state_dict(state)
        assert found.best_model_score == 1.5
        assert found.best_model_path == found.kth_best_model_path == f"{now}/one.ckpt"
        assert [*found.best_k_models] == [f"{now}/one.ckpt", f"{now}/two.ckpt"]
        assert found.dirpath == str(now)


def test_checkpoints_of_earlier_versions_are_found_under_their_key(tmp_path: Path) -> None:
    """Lightning finds the state of a callback by its class and settings."""
    (best, last) = best_and_last(tmp_path, monitor="loss", keep=1)
    assert best.state_key == ModelCheckpoint(tmp_path, monitor="validation/loss", mode="min").state_key
    assert last.state_key == ModelCheckpoint(tmp_path).state_key
