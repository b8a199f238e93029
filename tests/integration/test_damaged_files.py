"""Every file of a run's folder and of the cache, damaged in every way: a sentence, or nothing that depends on it."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from conftest import triptych

from docs_build.faults.files import COMMANDS, SMALL, FileFault, faults, flipped, make, outcome
from triptych.errors import UserError
from triptych.runs.folder import RunFolder
from triptych.runs.stored_config import read_config


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    make(folder)
    return folder


def wrong(finished: Path, tmp_path: Path, chosen: list[FileFault]) -> list[str]:
    return [
        f"{fault}: {found}"
        for number, fault in enumerate(chosen)
        if (found := outcome(finished, tmp_path / str(number), fault).wrong)
    ]


def test_a_sample_of_all_files_with_every_damage(finished: Path, tmp_path: Path) -> None:
    quick = [fault for fault in faults(finished) if fault.command != "train"]
    assert not wrong(finished, tmp_path, random.Random(25).sample(quick, 12))


@pytest.mark.parametrize("is_scored", [True, False])
def test_a_configuration_that_is_cut_off_is_named(is_scored: bool, tiny_run: Path, tmp_path: Path) -> None:
    """Wherever it is cut; with its digest, or, as before training has ended, by the sections that it lacks."""
    shutil.copytree(tiny_run / "runs" / "tiny", tmp_path / "tiny")
    if not is_scored:
        for name in ("result.json", "trained.json"):
            (tmp_path / "tiny" / name).unlink(missing_ok=True)
    config = tmp_path / "tiny" / "config.yaml"
    lines = config.read_text().splitlines(keepends=True)
    end = "seed:" if is_scored else "metric:"
    for length in range(0, next(i for i, line in enumerate(lines) if line.startswith(end)) + 1, 3):
        config.write_text("".join(lines[:length]))
        with pytest.raises(UserError, match=r"config\.yaml (cannot be read|is no configuration)"):
            read_config(RunFolder(tmp_path / "tiny"))


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("command", COMMANDS)
def test_all_files_with_every_damage(command: str, finished: Path, tmp_path: Path) -> None:
    assert not wrong(finished, tmp_path, [fault for fault in faults(finished) if fault.command == command])


def test_a_run_that_cannot_be_written_is_scored_all_the_same(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its scores were lost."""

    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("triptych.evaluation.run.save_evaluation", refuse)
    done = triptych("evaluate", "run=runs/x", "split=validation", cwd=finished)
    assert done.returncode == 0, done.stderr
    assert "BLEU" in done.stdout


@pytest.mark.slow
def test_a_damaged_entry_of_the_cache_is_named_and_made_again(finished: Path, tmp_path: Path) -> None:
    for number, pattern in enumerate(("cache/stores/*/train.src.ids", "cache/tokenizers/*/joint.model")):
        place = tmp_path / str(number)
        shutil.copytree(finished, place)
        shutil.rmtree(place / "runs")
        (path,) = place.glob(pattern)
        path.write_bytes(flipped(path.read_bytes()))
        done = triptych("train", *SMALL, cwd=place)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert f"{path.parent.name}/{path.name} cannot be read (its checksum is wrong)" in done.stderr
        shutil.rmtree(path.parent)
        assert triptych("train", *SMALL, cwd=place).returncode == 0
