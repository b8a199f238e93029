"""Cells of tables in Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import pytest
from markdown_it import MarkdownIt

from triptych.reports.formats import markdown_cell


def _commonmark(text: str) -> str:
    return MarkdownIt("commonmark").enable("table").render(text)


def _python_markdown(text: str) -> str:
    markdown = pytest.importorskip("markdown", reason="the extra 'docs' is not installed")
    return str(markdown.markdown(text, extensions=["tables"]))


@pytest.mark.parametrize("render", [_commonmark, _python_markdown])
@pytest.mark.parametrize("text", ["37.3 < 38.6", "38.7 > 38.6", "p < 0.05 | <b>x</b>", "[a](b) *c* `d`", "a\\b", "a & b"])
def test_a_cell_is_shown_as_it_is(render: Callable[[str], str], text: str) -> None:
    page = render(f"| {markdown_cell(text)} |\n| --- |\n| y |\n")
    found = re.search(r"<th>(.*)</th>", page)
    assert found is not None, page
    assert html.unescape(found[1]) == text
