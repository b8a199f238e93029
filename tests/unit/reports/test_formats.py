"""Text in Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from markdown_it import MarkdownIt

from triptych.reports.formats import to_markdown
from triptych.reports.table import Table

TEXTS = ["37.3 < 38.6", "38.7 > 38.6", "p < 0.05 | <b>x</b>", "[a](b) *c* `d`", "a\\b", "a \\< b", "&lt; a & b"]


def _commonmark(text: str) -> str:
    return MarkdownIt("commonmark").enable("table").render(text)


def _python_markdown(text: str) -> str:
    markdown = pytest.importorskip("markdown", reason="the extra 'docs' is not installed")
    return str(markdown.markdown(text, extensions=["tables"]))


@pytest.mark.parametrize("render", [_commonmark, _python_markdown])
@pytest.mark.parametrize("text", TEXTS)
def test_text_is_shown_as_it_is(render: Callable[[str], str], text: str, tmp_path: Path) -> None:
    """As GitHub renders it, and as the site does."""
    table = Table("title", pd.DataFrame([["x"]], columns=pd.MultiIndex.from_tuples([("", text)])), lead=[text])
    page = render(to_markdown([table], tmp_path))
    for found in (re.search(r"<p>(.*)</p>", page), re.search(r"<th>(.*)</th>", page)):
        assert found is not None, page
        assert html.unescape(found[1]) == text
