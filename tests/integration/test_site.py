"""The documentation site: it builds strictly, and its pages request nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from conftest import ROOT

pytest.importorskip("material", reason="needs the extra docs: pip install -e '.[docs]'")
LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Attributes whose address a browser loads by itself."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. The build is strict: a warning, such as of a link that leads nowhere, ends it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


class Loads(HTMLParser):
    """Addresses that a browser loads when it opens a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("rel") not in ("canonical", "prev", "next"):
            self.found += filter(None, [given.get(LOADING.get(tag, ""))])


@pytest.mark.slow
def test_every_page_is_built_and_loads_nothing_from_elsewhere(site: Path) -> None:
    assert (site / "index.html").exists()
    for page in (ROOT / "docs").glob("*.md"):
        assert (site / page.with_suffix(".html").name).exists()
    for study in (ROOT / "experiments").glob("*/README.md"):
        assert (site / "experiments" / study.parent.name / "index.html").exists()
    for page in site.rglob("*.html"):
        loads = Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        assert loads.found
        for address in loads.found:
            assert not re.match(r"(https?:)?//", address), f"{page.relative_to(site)} loads {address}"
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", style.read_text(encoding="utf-8")), style
