"""A headless Chromium for the tests of pages; they are skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
_shared: list[Any] = []


@contextmanager
def chromium() -> Iterator[Any]:
    """Start the browser of this machine, or the one that playwright has installed, as playwright's ``Browser``."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        path = next(filter(None, map(shutil.which, NAMES)), driver.chromium.executable_path)
        if not Path(path).exists():
            pytest.skip("no Chromium is installed")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def one_browser() -> Iterator[None]:
    """Start one browser for all pages that the tests of a module open."""
    with chromium() as browser:
        _shared.append(browser)
        yield
        _shared.pop()


@contextmanager
def open_page(address: str, width: int = 1280, colour_scheme: str = "light") -> Iterator[Any]:
    """Open an address in a window 900 pixels high, as playwright's ``Page``.

    After the block, the page must have had no error and must have asked for nothing from another place. The same holds
    of pages that it opens.
    """
    with nullcontext(_shared[-1]) if _shared else chromium() as browser:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=colour_scheme)
        mistakes: list[str] = []
        origin = address.split("/")[2]
        context.on("weberror", lambda error: mistakes.append(str(error.error)))
        context.on("console", lambda message: mistakes.append(message.text) if message.type == "error" else None)
        context.on(
            "request", lambda request: mistakes.append(request.url) if _is_foreign(request.url, origin) else None
        )
        page = context.new_page()
        page.goto(address)
        yield page
        context.close()
    assert mistakes == []


def _is_foreign(url: str, origin: str) -> bool:
    return not url.startswith(("data:", "blob:")) and url.split("/")[2] != origin
