"""The committed reports of studies are what their archives make."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT

from triptych.reports.build import report
from triptych.reports.equal_table import CLAIMS_TITLE, TITLE

HOMES = sorted((ROOT / "experiments").glob("*/results/*/archive.json"))
BLOCK = re.compile(r"<!-- (\w[\w .]*): written by triptych report -->\n\n(.*?)\n<!-- end of \1 -->", re.DOTALL)


def summary(home: Path) -> str:
    """The first table of a committed report and the sentences above it."""
    text = (home / "report.md").read_text(encoding="utf-8")
    return text.partition("\n\n")[2].partition("\n- ")[0]


def test_a_committed_report_is_what_its_archive_makes(tmp_path: Path) -> None:
    """``zero_shot`` has two test sets, several directions and few runs."""
    home = ROOT / "experiments" / "zero_shot" / "results" / "multi30k"
    made = report(ROOT / "experiments" / "zero_shot")
    assert made.folder == home
    made.write(tmp_path)
    theirs, ours = ((folder / "report.md").read_text() for folder in (home, tmp_path))
    assert ours.partition("## Runs")[0] == theirs.partition("## Runs")[0], "links to runs differ with the folder"
    assert (tmp_path / "report.csv").read_text() == (home / "report.csv").read_text()


@pytest.mark.parametrize("path", HOMES, ids=lambda path: path.parts[-4])
def test_the_tables_of_a_page_are_its_reports(path: Path) -> None:
    page = (path.parents[2] / "README.md").read_text(encoding="utf-8")
    scale = path.parent.name
    part = (path.parent / "report.md").read_text(encoding="utf-8").partition("## Verdicts\n\n")[2]
    found = dict(BLOCK.findall(page))
    assert found.get(f"verdicts {scale}", "") == part.partition("\n- ")[0]
    if path.parts[-4] not in ("decoding", "divergence", "lm4mt_decay", "scaling", "tuning"):  # with tables of their own
        assert found[f"summary {scale}"] == summary(path.parent)
    if path.parts[-4] == "scaling":
        report_text = (path.parent / "report.md").read_text(encoding="utf-8")
        assert all(found[f"{name} {scale}"] in report_text for name in ("scaling", "series"))
    names = re.findall(r"<!-- (\w[\w .]*): written", page)
    assert set(names) == set(found), "each has its end"
    assert {name.split()[0] for name in names} <= {
        "summary",
        "verdicts",
        "measures",
        "scaling",
        "series",
        "grid",
        "best",
        "orders",
        "diverged",
        "equal",
        "equal_claims",
        "dose",
        "suites",
    }
    for name in ("dose", "suites"):
        assert found.get(f"{name} {scale}", "") in (path.parent / "report.md").read_text(encoding="utf-8")
    for name, title in (("equal", TITLE), ("equal_claims", CLAIMS_TITLE)):
        if f"{name} {scale}" in found:
            text = (path.parent / "report.md").read_text(encoding="utf-8")
            assert found[f"{name} {scale}"] == text.partition(f"## {title}\n\n")[2].partition("\n- ")[0]


def test_the_readmes_tables_are_those_of_reports() -> None:
    found = dict(BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")))
    assert found["summary architectures toy"] == summary(ROOT / "experiments" / "architectures" / "results" / "toy")
    page = dict(BLOCK.findall((ROOT / "experiments" / "fair" / "README.md").read_text(encoding="utf-8")))
    assert found["equal_claims fair multi30k_converged"] == page["equal_claims multi30k_converged"]


@pytest.mark.parametrize("path", HOMES, ids=lambda path: path.parts[-4])
def test_a_page_says_nothing_that_a_report_did_not_find(path: Path) -> None:
    """Words of victory stand in the table that the report wrote, and nowhere else."""
    page = BLOCK.sub("", (path.parents[2] / "README.md").read_text(encoding="utf-8"))
    assert not re.findall(r"\b(held|ahead|did not hold|level with|outperforms?|p [<=] 0)\b", page)


def test_the_readme_claims_no_victory() -> None:
    text = BLOCK.sub("", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert not re.findall(r"\b(held|ahead|did not hold|level with|outperforms?|p [<=] 0)\b", text)


def test_one_seed_has_no_verdict_on_two_arms() -> None:
    """A line over many arms of one seed may have one."""
    for path in HOMES:
        report_lines = (path.parent / "report.md").read_text(encoding="utf-8").splitlines()
        verdicts = [line for line in report_lines if re.search(r"\| (held|opposite|equivalent|better|worse) \|", line)]
        several = any(re.search(r"over [35] seeds|^## Dose", line) for line in report_lines)
        assert several or not verdicts, path
