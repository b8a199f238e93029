"""Which runs a report finds: those behind links too, and no copies."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from made_runs import change, make_run

from triptych.errors import UserError
from triptych.reports.build import report
from triptych.reports.reader import find_runs


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two arms with two seeds each."""
    for model, bleu in (("rnn", 30.0), ("transformer", 33.0)):
        for seed in (1, 2):
            run = make_run(
                tmp_path / "runs", f"model={model},seed={seed}-0000000{seed}", seed, seconds=10.0 * seed + bleu
            )
            change(run, "test", "toy", "bleu", to=bleu + seed)
    return tmp_path / "runs"


def test_a_link_to_a_run_or_to_a_folder_of_runs_is_followed(runs: Path, tmp_path: Path) -> None:
    """They were left out without a word."""
    several, one = tmp_path / "several", tmp_path / "one"
    for folder in (several, one):
        folder.mkdir()
    (several / "link").symlink_to(runs)
    first = min(runs.iterdir())
    (one / "run").symlink_to(os.path.relpath(first, one))
    assert [run.id for run in find_runs(several)] == [f"link/{run.id}" for run in find_runs(runs)]
    assert [run.id for run in find_runs(one)] == ["run"]
    assert len(report(one).table) == 1


def test_a_run_keeps_its_own_path_beside_links_and_circles(runs: Path) -> None:
    expected = [run.id for run in find_runs(runs)]
    (runs / "a_link").symlink_to(min(runs.iterdir()))
    (runs / "around").symlink_to(runs)
    (runs / "nowhere").symlink_to(runs / "absent")
    assert [run.id for run in find_runs(runs)] == expected


def test_a_run_without_its_record_says_so(runs: Path) -> None:
    record = next(runs.rglob("run.json"))
    record.unlink()
    with pytest.raises(UserError, match=rf"{record.parent} has lost its run\.json; put it back, or delete the folder"):
        find_runs(runs)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_that_cannot_be_read_is_named(runs: Path) -> None:
    (runs / "closed").mkdir(mode=0)
    with pytest.raises(UserError, match="closed cannot be read; make it readable"):
        find_runs(runs)


def test_copies_are_no_further_trainings(runs: Path, caplog: pytest.LogCaptureFixture) -> None:
    """They were, and the intervals of a report shrank."""
    alone = report(runs).table
    home = runs.parent
    shutil.copytree(runs, home / "both" / "a")
    shutil.copytree(runs, home / "both" / "b")
    (home / "both" / "b").rename(home / "both" / "c d")
    found = find_runs(home / "both")
    assert [run.id for run in found] == [f"a/{run.id}" for run in find_runs(runs)]
    assert "left out, as copies of other runs: c d/model_rnn" in caplog.text
    assert "and 3 more." in caplog.text
    both = report(home / "both").table
    assert both.drop(columns="arm").to_json() == alone.drop(columns="arm").to_json()


def test_the_same_configuration_trained_again_is_no_copy(runs: Path) -> None:
    shutil.copytree(runs, runs.parent / "both" / "a")
    shutil.copytree(runs, runs.parent / "both" / "b")
    for run in (runs.parent / "both" / "b").iterdir():
        change(run, "train", "seconds", to=77.0)
    assert len(find_runs(runs.parent / "both")) == 8
