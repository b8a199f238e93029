"""What the README and the pages promise: its length, its commands, its links."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from conftest import ROOT, triptych
from page_commands import blocks, commands, run_command, write_inputs

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "examples").rglob("*.md"),
    *(ROOT / ".github").rglob("*.md"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with the files that the pages' commands read."""
    yield write_inputs(tmp_path)
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_readme_is_short() -> None:
    """Tables included; a word has a letter, so figures and the lines of tables are none."""
    assert sum(bool(re.search(r"[^\W\d_]", word)) for word in README.split()) <= 900


def test_readme_commands_run(folder: Path) -> None:
    """The commands in this process, where most time of such small trainings would go into importing libraries."""
    found = commands(README)
    assert [words[1] for words in found] == ["train", "report", "train", "translate", "attend", "evaluate", "report"]
    for words in found:
        run_command(words, folder, triptych)
    assert (folder / "runs" / "compare" / "report.html").exists()
    assert len((folder / "output.de").read_text(encoding="utf-8").splitlines()) == 2
    for script in blocks(README, "python"):
        script = script.replace('"scale=smoke"', '"scale=smoke", "cache=cache"')
        subprocess.run([sys.executable, "-c", script], cwd=folder, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["quickstart", "tutorial", "how-to"])
def test_commands_of_pages_run(page: str, folder: Path) -> None:
    found = commands((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    assert len(found) > 1
    for words in found:
        run_command(words, folder, triptych)


def anchors(page: Path) -> set[str]:
    """The names by which a page's headings can be linked."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:", link):
            path, _, anchor = link.partition("#")
            target = (page.parent / unquote(path)) if path else page
            assert target.exists(), f"{page.name} links to {link}, which does not exist"
            if anchor:
                assert anchor in anchors(target), f"{page.name} links to {link}, which has no such heading"


def test_no_page_is_lost() -> None:
    """Every page of docs/ is linked from the README."""
    assert {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} <= set(re.findall(r"\]\(([^)#\s]+)", README))
