"""A headless Chromium for the tests of pages; they are skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def open_page(address: str, width: int = 1280, colour_scheme: str = "light") -> Iterator[Any]:
    """Open an address in a window 900 pixels high, as playwright's ``Page``.

    After the block, the page must have had no error and must have asked for nothing from another place.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium is installed")
    origin = address.split("/")[2]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=colour_scheme)
        mistakes: list[str] = []
        page.on("pageerror", lambda error: mistakes.append(str(error)))
        page.on("console", lambda message: mistakes.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: mistakes.append(request.url) if _is_foreign(request.url, origin) else None)
        page.goto(address)
        yield page
        browser.close()
    assert mistakes == []


def _is_foreign(url: str, origin: str) -> bool:
    return not url.startswith(("data:", "blob:")) and url.split("/")[2] != origin
