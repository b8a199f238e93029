"""The page of equations: links to symbols become their lines."""

from __future__ import annotations

import ast
import re

from docs_build import source
from docs_build.mathml import with_mathml
from docs_build.repository import ROOT

PAGE = "docs/equations.md"
SYMBOL = re.compile(r"^\[`([\w.]+)`\]\(\.\./(src/[\w/]+\.py)\)$", re.MULTILINE)
DOCSTRING = re.compile(r"^\[the docstring of [\w/.]+\]\(\.\./(src/[\w/]+\.py)\)$", re.MULTILINE)


def in_site(markdown: str) -> str:
    """Return the page as the site shows it."""
    return DOCSTRING.sub(_docstring, SYMBOL.sub(_lines, with_mathml(markdown)))


def _lines(found: re.Match[str]) -> str:
    listing = source.listing(path := found[2], found[1])
    cited = "".join(f" · {citation}" for citation in listing.cited)
    caption = f"`{path.removeprefix('src/triptych/')}`, line {listing.line}{cited}"
    return f"\n{caption}\n{{ .source }}\n\n```python\n{listing.code}\n```\n"


def _docstring(found: re.Match[str]) -> str:
    docstring = ast.get_docstring(ast.parse((ROOT / found[1]).read_text(encoding="utf-8"))) or ""
    return source.as_markdown(docstring.partition("\n\n")[2])
