"""The digests of a result find what has changed, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from triptych.runs.digests import (
    find_change,
    require_figures,
    require_same_training,
    result_digest,
    text_checksum,
    with_digests,
)
from triptych.runs.folder import FORMAT, RunFolder, RunRecord, write_json, write_record
from triptych.stored import DamagedFile

RESULT = {"train": {"steps": 20, "flops": 3.25e9, "seconds": 1.5}, "data": {"token_stream_after": {2: "a", 10: "b"}}}
CONFIG = {
    "seed": 1,
    "output": "runs",
    "logger": "none",
    "data": {"dir": "here", "src": "en"},
    "search": {"beam_size": 4},
}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """The folder of a finished run."""
    folder = RunFolder(tmp_path / "run")
    folder.checkpoints.mkdir(parents=True)
    (folder.checkpoints / "best.ckpt").write_bytes(b"weights")
    (folder.path / "metrics.csv").write_text("step\n1\n")
    folder.config.write_text(yaml.safe_dump(CONFIG))
    write_record(folder, RunRecord(FORMAT, "0.3.0", "run", "run", ("seed=1",), "aa", "bb", {}))
    write_json(folder.result, with_digests(RESULT, folder))
    return folder


def stored(folder: RunFolder) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(folder.result.read_text())
    return result


def test_what_was_written_has_not_changed(folder: RunFolder) -> None:
    assert find_change(stored(folder), CONFIG) is None
    require_figures(folder.result, stored(folder), "")
    require_same_training(folder, folder.checkpoints / "best.ckpt")


@pytest.mark.parametrize(("key", "value"), [("steps", 21), ("flops", 3.26e9), ("seconds", 1.4999999), ("more", None)])
def test_an_edited_figure_is_found(folder: RunFolder, key: str, value: Any) -> None:
    result = stored(folder)
    result["train"][key] = value
    assert find_change(result, CONFIG) == "its figures are not those that were written"
    with pytest.raises(DamagedFile, match="its figures are not those that were written"):
        require_figures(folder.result, result, "")


def test_an_edited_digest_is_found(folder: RunFolder) -> None:
    result = stored(folder)
    result["digests"]["metrics.csv"] = [0, 0]
    assert find_change(result, CONFIG)


@pytest.mark.parametrize(
    "change",
    [{"output": "moved"}, {"logger": "csv"}, {"data": {**CONFIG["data"], "dir": "there", "train": "a"}}],
)  # type: ignore[dict-item]
def test_a_run_and_its_text_may_move(folder: RunFolder, change: dict[str, Any]) -> None:
    assert find_change(stored(folder), CONFIG | change) is None


@pytest.mark.parametrize("change", [{"seed": 2}, {"search": {"beam_size": 5}}, {"data": {"dir": "here", "src": "de"}}])
def test_an_edited_configuration_is_found(folder: RunFolder, change: dict[str, Any]) -> None:
    assert find_change(stored(folder), CONFIG | change) == "its config.yaml is not the one that it was trained with"
    folder.config.write_text(yaml.safe_dump(CONFIG | change))
    with pytest.raises(DamagedFile, match="not the one that the run was trained with"):
        require_same_training(folder)


def test_a_missing_configuration_is_found(folder: RunFolder) -> None:
    assert find_change(stored(folder), {}) == "its config.yaml is gone"


def test_scoring_keeps_the_digests_of_what_was_trained(folder: RunFolder) -> None:
    """It took whatever lay there then for what was trained."""
    trained = stored(folder)
    (folder.path / "metrics.csv").write_text("step\n2\n")
    (folder.checkpoints / "best.ckpt").write_bytes(b"WEIGHTS")
    (folder.checkpoints / "averaged.ckpt").write_bytes(b"mean")
    scored = with_digests({**trained, "validation": {"loss": 2.0}}, folder)
    del scored["digests"]["checkpoints/averaged.ckpt"]
    assert scored["digests"] == {**trained["digests"], "result": scored["digests"]["result"]}
    assert scored["digests"]["result"] != trained["digests"]["result"]


def test_the_ends_of_lines_do_not_count(folder: RunFolder) -> None:
    metrics = folder.path / "metrics.csv"
    before = text_checksum(metrics)
    metrics.write_bytes(metrics.read_bytes().replace(b"\n", b"\r\n"))
    assert text_checksum(metrics) == before


def test_weights_of_another_run_are_found(folder: RunFolder) -> None:
    best = folder.checkpoints / "best.ckpt"
    best.write_bytes(b"WEIGHTS")
    with pytest.raises(DamagedFile, match=r"best\.ckpt .*not the one that was written"):
        require_same_training(folder, best)
    folder.result.rename(folder.trained)
    with pytest.raises(DamagedFile, match=r"best\.ckpt"):
        require_same_training(folder, best)
    folder.trained.unlink()
    require_same_training(folder, best)  # of a run that still trains, nothing is known


def test_a_result_without_digests_passes(folder: RunFolder) -> None:
    write_json(folder.result, RESULT)
    assert find_change(stored(folder), {}) is None
    require_figures(folder.result, stored(folder), "")
    require_same_training(folder, folder.checkpoints / "best.ckpt")


def test_a_digest_is_that_of_what_a_reader_finds(folder: RunFolder) -> None:
    """JSON turns numbers that are keys into text, and tuples into lists."""
    assert result_digest({"a": {10: (1, 2), 9: 0.1}}) == result_digest(json.loads('{"a": {"9": 0.1, "10": [1, 2]}}'))
