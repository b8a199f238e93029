"""The search that a run's test sets were translated with."""

from __future__ import annotations

from omegaconf import DictConfig, OmegaConf

from triptych.decoding.choices import EXACT, TUNED
from triptych.runs.folder import RunFolder
from triptych.runs.result_file import SCORE_AGAIN, read_checked

SEARCH = "triptych.decoding.search.Search"
"""The class whose arguments ``NEW_KEYS`` are; a class of the user's own has its own arguments."""
NEW_KEYS = {"stop": EXACT, "min_length": 0}
"""Keys that older runs lack, with the values that do what was done then."""


def scored_search(folder: RunFolder, search: DictConfig) -> DictConfig:
    """Return a run's configuration of its search, with the number that was chosen for a length penalty to be tuned.

    The penalty stays ``tuned`` while no result says what was chosen.
    """
    missing = NEW_KEYS if search.get("_target_") == SEARCH else {}
    merged = OmegaConf.merge(missing, search, _chosen(folder) if search.get("length_penalty") == TUNED else {})
    assert isinstance(merged, DictConfig)
    return merged


def _chosen(folder: RunFolder) -> dict[str, float]:
    """Return the length penalty that a result says was chosen; nothing without a result.

    The first results of version 0.3.0 say it in the scores of their test sets alone.
    """
    if not folder.result.exists():
        return {}
    result = read_checked(folder.result, SCORE_AGAIN)
    stored = [result["search"]] if "search" in result else list(result.get("test", {}).values())
    return {"length_penalty": stored[0]["length_penalty"]} if stored and "length_penalty" in stored[0] else {}
