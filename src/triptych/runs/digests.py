"""Digests in a result, which show whether a run's files are still those that were written.

They find what happens by mistake: a figure that was edited, a file of another run. They do not stop anybody who means
harm, and who can write new digests as well.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from triptych.runs.folder import RunFolder, read_record
from triptych.runs.identity import DATA_LOCATION, NOT_IDENTIFYING, display_overrides
from triptych.stored import ERRORS, DamagedFile, checksum, read_json, read_yaml

KEY = "digests"
"""Key of a result that holds the digests, by the names of files. ``RESULT`` is that of the result's own figures, and
``STUDY`` that of what a run's study claims, which says nothing of the run itself."""
RESULT, RECORD, CONFIG, METRICS, STUDY = "result", "run.json", "config.yaml", "metrics.csv", "study"
TEXT = (*DATA_LOCATION, "train", "validation", "test")
"""Keys of ``data`` that say where the text lies; its fingerprint says what it is."""
OTHER_FIGURES = "its figures are not those that were written"
PUT_BACK = "put the file of the run back, or delete the run's folder and train it again"


def with_digests(result: Mapping[str, Any], folder: RunFolder) -> dict[str, Any]:
    """Return a result with digests of itself, of what it follows from, and of the text that was scored.

    Args:
        result: content of trained.json or result.json. Digests that it has of log and checkpoints are kept: scoring
            adds files and changes none.
        folder: of the run, where the other files lie.
    """
    known = result.get(KEY, {})
    metrics = folder.path / METRICS
    files = [path for path in sorted(folder.checkpoints.glob("[!.]*")) if path.is_file()]
    config = read_yaml(folder.config)
    record = read_record(folder)
    digests = {
        RECORD: record_digest(record.label, record.overrides),
        CONFIG: config_digest(config),
        STUDY: _digest(config.get(STUDY)),
        **({METRICS: known.get(METRICS) or text_checksum(metrics)} if metrics.exists() else {}),
        **{name: known.get(name) or checksum(path) for path in files if (name := _name(path))},
        **{text_name(path.name): text_checksum(path) for path in sorted(folder.translations.glob("[!.]*.txt"))},
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
        plain["data"] = {key: value for key, value in data.items() if key not in TEXT}
    return _digest(plain)


def record_digest(label: str, overrides: Sequence[str]) -> str:
    """Return 16 hexadecimal digits that identify what a run is called in tables."""
    return _digest([label, display_overrides(overrides)])


def text_checksum(path: Path) -> list[int]:
    """Return the checksum of a file of text, whatever ends its lines: git may change that."""
    return _text_checksum(path.read_bytes())


def lines_checksum(lines: Iterable[str]) -> list[int]:
    """Return what ``text_checksum`` returns of a file with these lines."""
    return _text_checksum("".join(f"{line}\n" for line in lines).encode())


def _text_checksum(content: bytes) -> list[int]:
    content = content.replace(b"\r\n", b"\n")
    return [len(content), zlib.crc32(content)]


def text_name(file: str) -> str:
    """Return what digests call a file of translations, references, sources or their log-likelihoods."""
    return f"translations/{file}"


def find_change(result: Mapping[str, Any], config: Mapping[str, Any]) -> str | None:
    """Return what has changed of a result or its configuration since they were written; None if nothing has.

    Results of earlier versions have no digests, and none of them has changed.
    """
    digests = result.get(KEY)
    if digests is None:
        return None
    if digests.get(RESULT) != result_digest(result):
        return OTHER_FIGURES
    if digests.get(CONFIG) != config_digest(config):
        return f"its {CONFIG} is not the one that it was trained with" if config else f"its {CONFIG} is gone"
    if digests.get(STUDY) not in (None, _digest(config.get(STUDY))):
        return f"the study in its {CONFIG} is not the one that it was trained for"
    return None


def require_figures(path: Path, result: Mapping[str, Any], remedy: str) -> None:
    """Raise ``DamagedFile`` if the figures of a result are not those that were written.

    Args:
        path: of the file that holds the result; ``remedy`` is what to do, as the end of a sentence.
        result: content of the file.
    """
    if KEY in result and result[KEY].get(RESULT) != result_digest(result):
        raise DamagedFile(path, OTHER_FIGURES, remedy)


def require_same_training(folder: RunFolder, *checkpoints: Path) -> None:
    """Compare a run's configuration and checkpoints with those that were there when its training ended.

    Before that, nothing is known of them.

    Raises:
        DamagedFile: one has changed. Only where its text lies may change in the configuration.
    """
    known = _stored(folder)
    if CONFIG in known:
        try:
            config = config_digest(read_yaml(folder.config))
        except (*ERRORS, yaml.YAMLError) as error:
            raise DamagedFile(folder.config, error, PUT_BACK) from error
        if config != known[CONFIG]:
            raise DamagedFile(folder.config, "it is not the one that the run was trained with", PUT_BACK)
    for path in checkpoints:
        if _name(path) in known and checksum(path) != known[_name(path)]:
            raise DamagedFile(path, "it is not the one that was written", PUT_BACK)


def _name(checkpoint: Path) -> str:
    return f"checkpoints/{checkpoint.name}"


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
