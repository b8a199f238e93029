"""Digests in a result, which show whether a run's files are still those that were written.

They find what happens by mistake: a figure that was edited, a file of another run. They do not stop anybody who means
harm, and who can write new digests as well.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from triptych.runs.folder import RunFolder
from triptych.runs.identity import DATA_LOCATION, NOT_IDENTIFYING
from triptych.stored import ERRORS, DamagedFile, checksum, read_json

KEY = "digests"
"""Key of a result that holds the digests, by the names of files; ``RESULT`` is that of the result's own figures."""
RESULT, CONFIG, METRICS = "result", "config.yaml", "metrics.csv"
PUT_BACK = "put the file of the run back, or train the run again"


def with_digests(result: Mapping[str, Any], folder: RunFolder) -> dict[str, Any]:
    """Return a result with digests of itself and of what it follows from: configuration, log and checkpoints.

    Args:
        result: content of trained.json or result.json.
        folder: of the run, where the other files lie.
    """
    metrics = folder.path / METRICS
    digests = {
        CONFIG: config_digest(yaml.safe_load(folder.config.read_text(encoding="utf-8"))),
        **({METRICS: checksum(metrics)} if metrics.exists() else {}),
        **{
            f"checkpoints/{path.name}": checksum(path)
            for path in sorted(folder.checkpoints.glob("[!.]*"))
            if path.is_file()
        },
    }
    whole = {**result, KEY: digests}
    return {**whole, KEY: {RESULT: result_digest(whole), **digests}}


def result_digest(result: Mapping[str, Any]) -> str:
    """Return 16 hexadecimal digits that identify everything in a result but this digest itself."""
    others = {name: value for name, value in result.get(KEY, {}).items() if name != RESULT}
    return _digest({**result, KEY: others})


def config_digest(config: Mapping[str, Any]) -> str:
    """Return 16 hexadecimal digits that identify a configuration, wherever its text and its run lie."""
    plain = {key: value for key, value in config.items() if key not in NOT_IDENTIFYING}
    if isinstance(data := plain.get("data"), dict):
        plain["data"] = {key: value for key, value in data.items() if key not in DATA_LOCATION}
    return _digest(plain)


def find_change(result: Mapping[str, Any], config: Mapping[str, Any]) -> str | None:
    """Return what has changed of a result or its configuration since they were written; None if nothing has.

    Results of earlier versions have no digests, and none of them has changed.
    """
    digests = result.get(KEY)
    if digests is None:
        return None
    if digests.get(RESULT) != result_digest(result):
        return "the figures of its result are not those that were written"
    if digests.get(CONFIG) != config_digest(config):
        return f"its {CONFIG} is not the one that it was trained with"
    return None


def require_figures(path: Path, result: Mapping[str, Any], remedy: str) -> None:
    """Raise ``DamagedFile`` if the figures of a result are not those that were written.

    Args:
        path: of the file that holds the result; ``remedy`` is what to do, as the end of a sentence.
        result: content of the file.
    """
    if KEY in result and result[KEY].get(RESULT) != result_digest(result):
        raise DamagedFile(path, "its figures are not those that were written", remedy)


def find_changed_metrics(folder: RunFolder, result: Mapping[str, Any]) -> str | None:
    """Return what has happened to the log of a run since its result was written; None if nothing has."""
    expected, path = result.get(KEY, {}).get(METRICS), folder.path / METRICS
    if expected is None:
        return None
    if not path.exists():
        return f"its {METRICS} is gone"
    return None if checksum(path) == expected else f"its {METRICS} is not the one that was written"


def require_weights(folder: RunFolder, checkpoint: Path) -> None:
    """Compare a checkpoint with what was written when its training ended. Before that, nothing is known of it.

    Raises:
        DamagedFile: it has changed.
    """
    expected = _stored(folder).get(f"checkpoints/{checkpoint.name}")
    if expected is not None and checksum(checkpoint) != expected:
        raise DamagedFile(checkpoint, "it is not the one that was written", PUT_BACK)


def require_config(folder: RunFolder) -> None:
    """Compare a run's configuration with what was written when its training ended.

    Raises:
        DamagedFile: it has changed; only where its text lies may.
    """
    expected = _stored(folder).get(CONFIG)
    if expected is None:
        return
    try:
        found = config_digest(yaml.safe_load(folder.config.read_text(encoding="utf-8")))
    except (*ERRORS, yaml.YAMLError) as error:
        raise DamagedFile(folder.config, error, PUT_BACK) from error
    if found != expected:
        raise DamagedFile(folder.config, "it is not the one that the run was trained with", PUT_BACK)


def _stored(folder: RunFolder) -> dict[str, Any]:
    """Return the digests of a run: those of its result, or else those of its training."""
    path = next((path for path in (folder.result, folder.trained) if path.exists()), None)
    if path is None:
        return {}
    digests = read_json(path, dict[str, Any], PUT_BACK).get(KEY, {})
    return digests if isinstance(digests, dict) else {}


def _digest(value: Any) -> str:
    plain = json.loads(json.dumps(value, default=str))  # as a reader finds it: keys are text, and tuples are lists
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]
