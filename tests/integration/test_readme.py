"""What the README and the pages promise: its length, its commands, its links."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from conftest import ROOT, write_three_languages
from conftest import triptych_process as command_line

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "examples").rglob("*.md"),
    *(ROOT / ".github").rglob("*.md"),
]
SMALL = ["scale=smoke", "cache=cache"]
OWN_TEXT = ["tokenizer.vocab_size=320"]  # as many pieces as 40 sentences can fill


def blocks(text: str, language: str) -> list[str]:
    """The fenced code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def commands(text: str) -> list[list[str]]:
    """The arguments of each ``triptych`` command in the shell blocks of a page, redirections among them."""
    joined = "\n".join(blocks(text, "sh")).replace("\\\n", " ")
    found = [shlex.split(line, comments=True) for line in joined.splitlines()]
    return [words[1:] for words in found if words[:1] == ["triptych"]]


def run(arguments: list[str], folder: Path) -> None:
    """Run one command of the README at the smallest scale in a folder, with its redirections."""
    stdin, files = "", {}
    for sign in ("<", ">"):
        if sign in arguments:
            at = arguments.index(sign)
            files[sign] = folder / arguments[at + 1]
            arguments = [*arguments[:at], *arguments[at + 2 :]]
    if "<" in files:
        stdin = files["<"].read_text(encoding="utf-8")
    if arguments[0] == "train":
        arguments = [one for one in arguments if not one.startswith("scale=")] + SMALL
        arguments += OWN_TEXT if "data=text" in arguments else []
    done = command_line(*arguments, cwd=folder, stdin=stdin)
    assert done.returncode == 0, f"{arguments}: {done.stderr}"
    if ">" in files:
        files[">"].write_text(done.stdout, encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with the files that the README's commands read."""
    (tmp_path / "corpus").mkdir()
    write_three_languages(tmp_path / "corpus")
    (tmp_path / "input.en").write_text("cat sleeps\nred house\n", encoding="utf-8")
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_readme_is_short() -> None:
    assert len(README.split()) <= 900


def test_readme_commands_run(folder: Path) -> None:
    found = commands(README)
    assert [words[0] for words in found] == ["train", "report", "train", "translate", "attend", "evaluate", "report"]
    for arguments in found:
        run(arguments, folder)
    assert (folder / "runs" / "compare" / "report.html").exists()
    assert len((folder / "output.de").read_text(encoding="utf-8").splitlines()) == 2
    for script in blocks(README, "python"):
        script = script.replace('"scale=smoke"', '"scale=smoke", "cache=cache"')
        subprocess.run([sys.executable, "-c", script], cwd=folder, check=True)


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
