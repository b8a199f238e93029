"""Notebooks as pages: text, cells and stored outputs, without a script."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs_build.mathml import with_mathml


def page(path: Path) -> str:
    """Return a notebook as Markdown, with its outputs as they are stored."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _parts(cell)) + "\n"


def _parts(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield with_mathml(source)
        return
    yield f"````python\n{source}\n````"
    for output in cell["outputs"]:
        yield _output(output)


def _output(output: dict[str, Any]) -> str:
    """Return a stored output in the richest form that a page can show: a picture, HTML, or text."""
    shown = {kind: "".join(text) for kind, text in output.get("data", {}).items() if isinstance(text, str | list)}
    if picture := shown.get("image/png"):
        return f'<div class="output"><img alt="Figure" src="data:image/png;base64,{picture.strip()}"></div>'
    if found := shown.get("text/html"):
        # On one line, it is one block of HTML. No bracket in it shall look like a link of Markdown.
        one_line = found.replace("\n", "&#10;" if "srcdoc" in found else " ").replace("[", "&#91;")
        return f'<div class="output">{one_line}</div>'
    text = shown.get("text/plain") or "".join(output.get("text", ""))
    return f'<div class="output"><pre>{html.escape(text).replace("[", "&#91;")}</pre></div>'
