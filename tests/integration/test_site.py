"""The documentation site: it builds strictly, and its pages request nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser import chromium
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
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        shown = (site / "notebooks" / f"{notebook.name}.html").read_text(encoding="utf-8")
        assert shown.count('<img alt="Figure"') == notebook.read_text(encoding="utf-8").count('"image/png"') > 0
    for page in site.rglob("*.html"):
        loads = Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        assert loads.found
        for address in loads.found:
            assert not re.match(r"(https?:)?//", address), f"{page.relative_to(site)} loads {address}"
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", style.read_text(encoding="utf-8")), style


@pytest.fixture
def page(site: Path) -> Iterator[Any]:
    """A page of the site as a browser shows it from the folder, without a server, on a narrow screen."""
    with chromium() as browser:
        opened = browser.new_page(viewport={"width": 390, "height": 900})
        mistakes: list[str] = []
        opened.on("pageerror", lambda error: mistakes.append(str(error)))
        opened.on("request", lambda request: mistakes.append(request.url) if "://" in request.url[:8] else None)
        opened.goto((site / "index.html").as_uri())
        yield opened
    assert [one for one in mistakes if not one.startswith("file:")] == []


@pytest.mark.slow
def test_search_works_from_a_folder(page: Any) -> None:
    page.locator("label[for=__search]").first.click()
    page.locator(".md-search__input").press_sequentially("bpe_dropout")
    page.wait_for_selector(".md-search-result__item", timeout=20_000)
    found = [link.get_attribute("href") for link in page.locator(".md-search-result__item a").all()]
    assert any("reference/tokenizer" in address for address in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["index", "quickstart", "equations", "reference/model", "reference/api", "claims", "notebooks/attention.ipynb"],
)
def test_pages_fit_a_narrow_screen(page: Any, site: Path, name: str) -> None:
    page.goto((site / f"{name}.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
