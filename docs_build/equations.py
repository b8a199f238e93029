"""The page of equations: LaTeX becomes MathML, which browsers draw; links to symbols become their lines."""

from __future__ import annotations

import ast
import re

from latex2mathml.converter import convert

from docs_build import source
from docs_build.repository import ROOT

NEWLINE = "\n"
PAGE = "docs/equations.md"
BLOCK = re.compile(r"^```math\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"\$([^$\n]+(?:\n[^$\n]+)?)\$")
SYMBOL = re.compile(r"^\[`([\w.]+)`\]\(\.\./(src/[\w/]+\.py)\)$", re.MULTILINE)
DOCSTRING = re.compile(r"^\[the docstring of [\w/.]+\]\(\.\./(src/[\w/]+\.py)\)$", re.MULTILINE)


def in_site(markdown: str) -> str:
    """Return the page as the site shows it."""
    parts = re.split(r"(`[^`\n]+`)", BLOCK.sub(_block, markdown))
    parts[::2] = [INLINE.sub(_inline, part) for part in parts[::2]]
    return DOCSTRING.sub(_docstring, SYMBOL.sub(_lines, "".join(parts)))


def _block(found: re.Match[str]) -> str:
    return f'<div class="equation">{convert(found[1], display="block")}</div>'


def _inline(found: re.Match[str]) -> str:
    return f"<span>{convert(found[1].replace(NEWLINE, ' '))}</span>"  # Markdown takes <math> for a block


def _lines(found: re.Match[str]) -> str:
    listing = source.listing(path := found[2], found[1])
    cited = "".join(f" · {citation}" for citation in listing.cited)
    caption = f"`{path.removeprefix('src/triptych/')}`, line {listing.line}{cited}"
    return f"\n{caption}\n{{ .source }}\n\n```python\n{listing.code}\n```\n"


def _docstring(found: re.Match[str]) -> str:
    docstring = ast.get_docstring(ast.parse((ROOT / found[1]).read_text(encoding="utf-8"))) or ""
    return source.as_markdown(docstring.partition("\n\n")[2])
