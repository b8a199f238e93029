"""A file that triptych has written is compared with its shape, and what is damaged is named with what to do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import pytest
import yaml

from triptych.runs.folder import RunFolder
from triptych.runs.result_file import check_result, read_trained
from triptych.stored import DamagedFile, check_shape, checksums, read_json, read_table, read_yaml, require_checksums


class Inner(TypedDict):
    steps: int
    loss: NotRequired[float | None]


@dataclass
class Shape:
    name: str
    parts: dict[str, Inner]
    lines: tuple[str, ...] = ()


GOOD: dict[str, Any] = {"name": "x", "parts": {"a": {"steps": 1, "loss": 2}, "b": {"steps": 2, "loss": None}}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, None),
        ({"unknown": [1]}, None),
        ({"lines": ["a", 3]}, "lines[1] is no text"),
        ({"name": None}, "name is no text"),
        ({"parts": [1]}, "parts is no mapping"),
        ({"parts": {"a": {}}}, "parts.a.steps is missing"),
        ({"parts": {"a": {"steps": True}}}, "parts.a.steps is no integer"),
        ({"parts": {"a": {"steps": 1, "loss": float("nan")}}}, "parts.a.loss is no finite number"),
        ({"parts": {"a": {"steps": 1, "loss": "2"}}}, "parts.a.loss is no finite number"),
    ],
)
def test_the_first_difference_is_named(change: dict[str, Any], said: str | None, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(GOOD | change))
    if said is None:
        assert read_json(path, Shape, "delete it") == GOOD | change
        return
    with pytest.raises(DamagedFile) as damaged:
        read_json(path, Shape, "delete it")
    assert str(damaged.value) == f"{path} cannot be read ({said}); delete it."


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b"null", b"3"])
def test_what_is_no_such_file_is_damaged(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    for place in (path, tmp_path, tmp_path / "missing"):
        with pytest.raises(DamagedFile) as damaged:
            read_json(place, Shape, "delete it")
        assert str(damaged.value).startswith(f"{place} cannot be read (")
        assert "\n" not in str(damaged.value)


@pytest.mark.parametrize("content", ["", "a,b\n1,2\n", "step,loss\n1,abc\n", 'step,"loss\n1', "step\n1,2,3\n1,2,3,4\n"])
def test_a_table_has_steps_and_numbers(content: str, tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text(content)
    with pytest.raises(DamagedFile, match=r"metrics\.csv cannot be read \(.*\); delete it"):
        read_table(path, "delete it")
    path.write_text("step,loss\n1,2.5\n2,\n")
    assert read_table(path, "delete it")["loss"].tolist()[0] == 2.5


def test_a_changed_byte_is_found(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"text")
    (tmp_path / "b").write_bytes(b"")
    known = checksums(tmp_path)
    require_checksums(tmp_path, known, "delete it")
    for content in (b"tEXT", b"tex", b"text "):
        (tmp_path / "a").write_bytes(content)
        with pytest.raises(DamagedFile, match="its checksum is wrong"):
            require_checksums(tmp_path, known, "delete it")
    (tmp_path / "a").unlink()
    with pytest.raises(DamagedFile, match="no such file"):
        require_checksums(tmp_path, known, "delete it")


@pytest.mark.parametrize("bleu", [float("nan"), float("inf"), None, "30", [1]])
def test_a_score_is_a_finite_number(bleu: object) -> None:
    """NaN passed for a score that nobody had touched."""
    with pytest.raises(ValueError, match=r"test\.x\.bleu is no finite number"):
        check_result({"test": {"x": {"bleu": bleu, "bleu_signature": "s"}}})
    check_result({"test": {"x": {"bleu": 3, "bleu_signature": "s"}}})


@pytest.mark.parametrize("name", ["../../x", "a/b", "/x", ".x", "", "a\\b"])
def test_a_test_set_has_a_name_that_a_file_may_have(name: str) -> None:
    """A file of the archive was written elsewhere."""
    with pytest.raises(ValueError, match="which is no name of a test set"):
        check_result({"test": {name: {}}})


def test_a_file_of_aliases_is_not_unfolded(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("a: [1, 2]\n")
    assert read_yaml(path) == {"a": [1, 2]}
    path.write_text("a: &a [1, 2]\nb: [*a, *a]\n")
    with pytest.raises(yaml.YAMLError, match="it has an alias"):
        read_yaml(path)


@pytest.mark.parametrize("levels", [101, 100_000])
def test_a_deeply_nested_file_is_refused(tmp_path: Path, levels: int) -> None:
    """libyaml would end the process."""
    path = tmp_path / "config.yaml"
    path.write_text("[" * levels + "]" * levels)
    with pytest.raises(yaml.YAMLError, match="nested more than 100 levels"):
        read_yaml(path)


def test_what_was_trained_is_of_this_training(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    trained = {"training_hash": "a", "train": {"steps": 3}, "data": {}, "versions": {}}
    folder.trained.write_text(json.dumps(trained))
    assert read_trained(folder, "a") == trained
    with pytest.raises(DamagedFile, match="it is of another training"):
        read_trained(folder, "b")


def test_unions_are_tried_in_turn() -> None:
    check_shape([1, "a"], list[int | str])
    with pytest.raises(ValueError, match=r"x\[1\] is no integer"):
        check_shape([1, None], list[int | str], "x")
