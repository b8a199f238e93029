"""What result.json and trained.json hold, and how they are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Required, TypedDict

from triptych.runs.digests import require_figures
from triptych.runs.folder import RunFolder
from triptych.stored import DamagedFile, check_shape, read_json

TRAIN_AGAIN = "delete it and run its training again"
SCORE_AGAIN = "delete it and give the command of the run again, which does not train again but only translates"


class ModelEntry(TypedDict, total=False):
    name: str
    parameters: float | None
    parameters_non_embedding: float | None


class DataEntry(TypedDict, total=False):
    name: str
    languages: list[str]
    fingerprint: str
    token_stream: str
    token_stream_after: dict[str, str]


class TrainEntry(TypedDict, total=False):
    """Counts are numbers here, since other programs may write them as 3e6."""

    steps: float
    tokens_src: float
    tokens_tgt: float
    planned_steps: float
    compiled: bool
    flops: float | None
    seconds: float
    tokens_per_second: float
    device: str
    threads: int | None
    cores: int
    other_cores: float | None
    devices: int
    changed_devices: bool
    peak_flops: float | None
    mfu: float | None
    peak_memory_bytes: float | None
    unigram_loss: float | None
    trunk: dict[str, Any]


class TextEntry(TypedDict, total=False):
    sentences: dict[str, int]
    repeated: dict[str, int]
    unknown: dict[str, float]
    unused: float


class Details(TypedDict, total=False):
    brevity_penalty: float | None
    length_ratio: float | None
    precisions: list[float] | None


class Scores(TypedDict, total=False):
    """Scores of a test set. Those of metrics stand beside their signatures, ``bleu`` beside ``bleu_signature``."""

    sentences: int
    checkpoint: str
    text: str | None
    seconds: float | None
    beam_size: int
    length_penalty: float
    max_length_ratio: float
    max_length_extra: float
    stop: Any
    bleu_details: Details | None
    nats_per_sentence: float | None
    nats_per_word: float | None
    repetition_rate: float | None
    cut_share: float | None
    empty: int
    sentence_bleu_pieces: float | None
    by_length: list[dict[str, Any]]
    by_frequency: list[dict[str, Any]]
    at_common_penalty: dict[str, Any] | None


class Suite(TypedDict, total=False):
    items: Required[int]
    right: Required[int]
    accuracy: float
    by_kind: dict[str, dict[str, int]]


class Result(TypedDict, total=False):
    """result.json; trained.json is the same without ``validation``, ``test``, ``search`` and ``suites``."""

    run: str
    config_hash: str
    training_hash: str
    version: str
    seed: int | None
    model: ModelEntry
    data: DataEntry
    tokenizer: dict[str, Any]
    text: TextEntry
    train: TrainEntry
    init: Any
    diverged: bool
    stopped_early: bool
    versions: dict[str, str]
    weights_of: str
    validation: dict[str, float | None]
    search: dict[str, Any]
    test: dict[str, Scores]
    suites: dict[str, Suite]
    digests: dict[str, Any]


class Trained(TypedDict):
    """What every trained.json has."""

    training_hash: str
    train: dict[str, Any]
    data: dict[str, Any]
    versions: dict[str, str]


class Finished(TypedDict):
    """What every result.json has."""

    data: dict[str, Any]
    validation: dict[str, float | None]
    test: dict[str, dict[str, Any]]


def check_result(result: Any, needed: Any = Any) -> None:
    """Compare the content of a result.json with its shape. ``needed`` is one with the keys that it cannot do without.

    Raises:
        ValueError: it differs, or a metric's score is no finite number.
    """
    check_shape(result, Result)
    check_shape(result, needed)
    for test_set, scores in (result.get("test") or {}).items():
        if not re.fullmatch(r"\w[^/\\\x00-\x1f]*", test_set):  # files are named for it
            raise ValueError(f"test has {test_set!r}, which is no name of a test set")
        for key in scores:
            if key.endswith("_signature"):
                name = key.removesuffix("_signature")
                check_shape(scores[key], str, f"test.{test_set}.{key}")
                check_shape(scores.get(name), float, f"test.{test_set}.{name}")


def read_result(folder: RunFolder) -> dict[str, Any]:
    """Return the result of a finished run.

    Raises:
        DamagedFile: it is not what triptych wrote.
    """
    result = read_checked(folder.result, SCORE_AGAIN, Finished)
    require_figures(folder.result, result, SCORE_AGAIN)
    return result


def read_trained(folder: RunFolder, training_hash: str | None = None) -> dict[str, Any]:
    """Return what was trained, the result without its scores.

    Args:
        folder: of the run.
        training_hash: of the training that it must be of.

    Raises:
        DamagedFile: it is not what triptych wrote, or is of another training.
    """
    trained = read_checked(folder.trained, TRAIN_AGAIN, Trained)
    require_figures(folder.trained, trained, TRAIN_AGAIN)
    if training_hash is not None and trained["training_hash"] != training_hash:
        raise DamagedFile(folder.trained, "it is of another training", TRAIN_AGAIN)
    return trained


def read_checked(path: Path, remedy: str, needed: Any = Any) -> dict[str, Any]:
    """Return a result, whose scores are numbers. Raises ``DamagedFile`` otherwise; the rest as ``check_result``."""
    result: dict[str, Any] = read_json(path, Any, remedy)
    try:
        check_result(result, needed)
    except ValueError as error:
        raise DamagedFile(path, error, remedy) from error
    return result
