"""The committed reports of studies are what their archives make."""

from __future__ import annotations

from pathlib import Path

from conftest import ROOT

from triptych.reports.build import report


def test_a_committed_report_is_what_its_archive_makes(tmp_path: Path) -> None:
    """``zero_shot`` has two test sets, several directions and few runs."""
    home = ROOT / "experiments" / "zero_shot" / "results" / "multi30k"
    made = report(ROOT / "experiments" / "zero_shot")
    assert made.folder == home
    made.write(tmp_path)
    theirs = (home / "report.md").read_text().splitlines()
    ours = (tmp_path / "report.md").read_text().splitlines()
    assert [line.split("|")[2:] for line in ours] == [line.split("|")[2:] for line in theirs]
    assert (tmp_path / "report.csv").read_text() == (home / "report.csv").read_text()
