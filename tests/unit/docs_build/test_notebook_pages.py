"""A notebook on the site: its text with equations, its code, and the outputs that are stored with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docs_build.repository import links, map_links

notebook_pages = pytest.importorskip("docs_build.notebook_pages", reason="needs the extra docs: pip install '.[docs]'")


@pytest.fixture
def page(tmp_path: Path) -> str:
    outputs: list[dict[str, Any]] = [
        {"output_type": "stream", "name": "stdout", "text": ["a < b\n", "[c](d)\n"]},
        {"data": {"image/png": "AAAA\n", "text/plain": "Figure", "application/vnd.plotly.v1+json": {"data": []}}},
        {"data": {"text/html": ["<table>\n", "\n", "<td>f[0](x)</td></table>"], "text/plain": "0"}},
        {"data": {"text/html": '<iframe srcdoc="// a remark\nf[0](x)"></iframe>', "text/plain": "0"}},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "costs `$5`, and $x^2$\n", "\n", "$$\\frac{1}{2}$$"]},
        {"cell_type": "code", "source": ["f(1)  # $no$ equation"], "outputs": outputs},
    ]
    path = tmp_path / "one.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    return notebook_pages.page(path)


def test_equations_are_mathml_in_the_text_alone(page: str) -> None:
    assert page.startswith("# Title\ncosts `$5`, and <span><math")
    assert page.count("<math") == 2
    assert '<div class="equation"><math' in page
    assert "````python\nf(1)  # $no$ equation\n````" in page


def test_an_output_is_shown_in_its_richest_form(page: str) -> None:
    *_, text, picture, table, frame = page.strip().split("\n\n")
    assert text == '<div class="output"><pre>a &lt; b\n&#91;c](d)\n</pre></div>'
    assert picture == '<div class="output"><img alt="Figure" src="data:image/png;base64,AAAA"></div>'
    assert table == '<div class="output"><table>  <td>f&#91;0](x)</td></table></div>'
    assert frame == '<div class="output"><iframe srcdoc="// a remark&#10;f&#91;0](x)"></iframe></div>'


def test_nothing_in_an_output_is_taken_for_a_link(page: str) -> None:
    assert links(page) == []
    assert map_links(page, lambda link: None) == page
