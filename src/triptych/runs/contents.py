"""What a configuration names by a path, and what identifies it wherever it lies."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from triptych.errors import UserError
from triptych.runs.demo import locate_run
from triptych.runs.folder import RunFolder, read_record

FILES = ("tokenizer.model_file", "tokenizer.tgt_model_file")
"""Keys that name a file, which is identified by its content."""
INIT = "init"
"""Key that names another run, which is identified by its training."""


def contents(config: DictConfig) -> dict[str, str]:
    """Return what stands in a run's identity for each key that names a file or another run.

    A file that is missing is left to the class that wants to read it.

    Raises:
        UserError: there is no such run.
    """
    found = {}
    for key in FILES:
        given = OmegaConf.select(config, key)
        if isinstance(given, str) and (path := Path(given).expanduser()).is_file():
            found[key] = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    if run := config.get(INIT):
        found[INIT] = read_record(source_run(run)).training_hash
    return found


def with_contents(config: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's configuration with what its result says of the same keys: which run, and which tokenizer it was.

    Args:
        config: of the run, as it is stored.
        result: content of result.json; empty for a run that is not finished.
    """
    found = dict(config)
    if found.get(INIT) and isinstance(source := result.get(INIT), dict):
        found[INIT] = source.get("training_hash")
    fingerprint = (result.get("tokenizer") or {}).get("fingerprint")
    for key in FILES:
        section, name = key.split(".")
        if fingerprint and (stored := found.get(section) or {}).get(name):
            found[section] = {**stored, name: fingerprint}
    return found


def source_run(run: str) -> RunFolder:
    """Return the folder of the run that ``init`` names, as ``demo:NAME`` or by its folder.

    Raises:
        UserError: it is no run's, or the run has not been trained to its end: its weights would go on changing.
    """
    folder = RunFolder(locate_run(run))
    if not folder.record.exists():
        raise UserError(f"init={run} is no run folder (it has no run.json); give one that triptych made.")
    if not folder.trained.exists() and not folder.result.exists():
        raise UserError(f"init={run} is not trained to its end; finish its training first.")
    return folder
