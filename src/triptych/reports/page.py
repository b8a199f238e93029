"""Build the report as one HTML page that holds everything it needs, so it works offline.

Plotly's code, the figures and the translations lie in the page compressed (gzip, in base64), and the browser unpacks
them: a page has two megabytes instead of five.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader
from plotly.offline import get_plotlyjs

from triptych.reports.arm_rows import runs_of
from triptych.reports.formats import spans
from triptych.reports.table import Table
from triptych.reports.translations import AT_RANDOM, MOST_DIFFERENT
from triptych.reports.translations_data import NGRAMS


def build_page(
    tables: Sequence[Table],
    figures: Sequence[tuple[str, go.Figure]],
    colours: Mapping[str, str],
    home: Path,
    translations: Mapping[str, Any] | None = None,
) -> str:
    """Return the page as text.

    Args:
        tables: the tables; the first one's title is the page's, and the figures follow it.
        figures: the figures, with their titles.
        colours: the colour of each arm, by its label.
        home: the folder of the page, which its links start from.
        translations: what the page shows of the arms' translations (``translations_data.page_data``), if any.
    """
    first, *others = tables
    packed = {"translations-data": pack(json.dumps(translations, ensure_ascii=False))} if translations else {}
    if figures:
        drawn = ",".join(figure.to_json() for _, figure in figures)
        packed |= {"figures": pack(f"[{drawn}]"), "plotly": _packed_plotly()}
    environment = Environment(
        loader=PackageLoader("triptych.reports", "web"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("page.html.j2").render(
        table=first,
        figures=[title for title, _ in figures],
        tables=others,
        colours=colours,
        runs=runs_of(first.rows),
        several_seeds=any(len(row.finished) > 1 for row in first.rows),
        spans=spans,
        home=home,
        translations=translations,
        most=MOST_DIFFERENT,
        at_random=AT_RANDOM,
        ngrams=NGRAMS,
        packed=packed,
    )


def pack(text: str) -> str:
    """Return text compressed, in base64, the same for the same text."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


@cache
def _packed_plotly() -> str:
    return pack(get_plotlyjs())
