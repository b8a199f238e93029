"""Build the page of attention: one HTML file with its style, script and data, so it works offline."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from triptych.attention.summaries import MEASURES

SCRIPTS = ("weights.js", "panel.js", "table.js", "column.js", "main.js")
"""The parts of the page's script, in their order."""

ENVIRONMENT = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)


def build_page(columns: Sequence[Mapping[str, Any]], titles: Mapping[str, str]) -> str:
    """Return the page as text.

    Args:
        columns: what is drawn beside each other, as ``Attention.content`` gives it.
        titles: of the kinds of attention that the columns have, in the order in which they are offered.
    """
    folder = files("triptych.attention").joinpath("web")
    parts = {name: folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.html", "page.css", *SCRIPTS)}
    return ENVIRONMENT.from_string(parts["page.html"]).render(
        title=columns[0]["pairs"][0]["source"],
        style=Markup(parts["page.css"]),
        script=Markup("\n".join(parts[name] for name in SCRIPTS)),
        measures=MEASURES,
        data=Markup(to_json({"columns": columns, "kinds": titles})),
    )


def to_json(content: object) -> str:
    """Return JSON that may stand inside a script element: nothing in it can end the element."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
