"""The search that a run's test sets were translated with."""

from __future__ import annotations

import json
from typing import Any

from omegaconf import DictConfig, OmegaConf

from triptych.decoding.choices import TUNED
from triptych.runs.folder import RunFolder


def scored_search(folder: RunFolder, search: DictConfig) -> DictConfig:
    """Return a run's configuration of its search, with the number that was chosen for a length penalty to be tuned.

    The configuration is returned as it is while no result says what was chosen.
    """
    if search.get("length_penalty") != TUNED or not folder.result.exists():
        return search
    tests: dict[str, Any] = json.loads(folder.result.read_text(encoding="utf-8"))["test"]
    chosen = [{"length_penalty": scores["length_penalty"]} for scores in tests.values()]
    merged = OmegaConf.merge(search, *chosen[:1])  # one choice holds for all test sets
    assert isinstance(merged, DictConfig)
    return merged
