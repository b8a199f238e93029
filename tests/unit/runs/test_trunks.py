"""Which trunk a run goes on from."""

from __future__ import annotations

import json
from pathlib import Path

from triptych import __version__
from triptych.runs.folder import FORMAT, RunFolder, RunRecord, write_json, write_record
from triptych.runs.trunks import find_trunk
from triptych.runs.versions import source_hash


def keep(output: Path, name: str, steps: int, *, trunk_hash: str = "aa", started: str = "", kept: str = "") -> None:
    folder = RunFolder(output / name)
    folder.trunk.mkdir(parents=True)
    versions = {"source": started or source_hash()}
    write_record(folder, RunRecord(FORMAT, __version__, name, name, (), "00", "00", versions))
    stored = {"trunk_hash": trunk_hash, "steps": steps, "source": kept or source_hash()}
    write_json(folder.trunk / "trunk.json", stored)


def test_the_longest_trunk_that_is_not_too_long(tmp_path: Path) -> None:
    keep(tmp_path, "short", 8)
    keep(tmp_path, "middle", 16)
    keep(tmp_path, "long", 32)
    keep(tmp_path, "other", 20, trunk_hash="bb")
    keep(tmp_path, "started by other code", 20, started="x")
    keep(tmp_path, "kept by other code", 20, kept="x")
    keep(tmp_path, "new", 24)
    (tmp_path / "without").mkdir()
    folder = RunFolder(tmp_path / "new")
    found = find_trunk(folder, "aa", 31)
    assert found is not None
    assert (found.run, found.steps) == ("middle", 16), "neither its own nor those of other code count"
    assert json.loads((found.path / "trunk.json").read_text())["steps"] == 16
    longest = find_trunk(folder, "aa", 32)
    assert longest is not None
    assert longest.run == "long"
    assert find_trunk(folder, "aa", 7) is None
