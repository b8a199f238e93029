"""One HTML page that holds everything it needs, plotly's code included, and so works offline."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import plotly.graph_objects as go
from jinja2 import Environment
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from triptych.report.results import Run
from triptych.report.tables import MISSING


@dataclass(frozen=True)
class Row:
    """One row of the page's table: what it says, the arm's colour, and the runs behind it, one a seed."""

    cells: Sequence[str]
    colour: str
    runs: Sequence[Run]


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it: a figure, or a table with its notes."""

    title: str
    figure: go.Figure | None = None
    table: pd.DataFrame | None = None
    notes: Sequence[str] = ()


def build_page(
    title: str,
    header: pd.MultiIndex,
    rows: Sequence[Row],
    notes: Sequence[str],
    sections: Sequence[Section],
    home: Path,
) -> str:
    """The page as text.

    Args:
        title: the heading.
        header: (test set, header) of every column of ``rows``.
        rows: one a row of the table.
        notes: signatures and decoding settings, a line each.
        sections: what follows the table.
        home: the folder that the page will lie in, which its links start from.
    """
    figures = [
        Markup(
            section.figure.to_html(
                full_html=False,
                include_plotlyjs=False,
                div_id=f"figure-{i}",
                default_height="420px",
                config={"displayModeBar": False, "responsive": True},
            )
        )
        if section.figure
        else None
        for i, section in enumerate(sections)
    ]
    return ENVIRONMENT.from_string(TEMPLATE).render(
        title=title,
        rows=rows,
        header=header,
        notes=notes,
        spans=_spans(header),
        spans_of=_spans,
        sections=list(zip(sections, figures, strict=True)),
        runs=[run for row in rows for run in row.runs],
        provenance=_provenance,
        link=lambda run: quote(Path(os.path.relpath(run.folder, home)).as_posix()) + "/",
        plotly=Markup(get_plotlyjs()) if any(figures) else None,
    )


def _spans(header: pd.MultiIndex) -> list[tuple[str, int]]:
    """The upper row of the header: each test set and how many columns it spans."""
    return [(name, len(list(group))) for name, group in groupby(header, key=lambda pair: pair[0])]


def _provenance(run: Run) -> dict[str, str]:
    """Where a run's figures come from. Its MFU names the peak that it is a part of, since it means nothing without."""
    result = run.result or {}
    train, data, tokenizer = (result.get(part) or {} for part in ("train", "data", "tokenizer"))
    memory, mfu, peak = (train.get(key) for key in ("peak_memory_bytes", "mfu", "peak_flops"))
    values = {
        "seed": run.seed,
        "steps": train.get("steps"),
        "device": train.get("device"),
        "peak memory (GB)": memory and f"{memory / 1e9:.2f}",
        "MFU": mfu and peak and f"{100 * mfu:.1f}% of {peak / 1e12:,.3g} TFLOP/s ({train.get('peak_source')})",
        "batches seen": data.get("token_stream"),
        "data": data.get("fingerprint"),
        "tokenizer": tokenizer.get("fingerprint"),
        "config": result.get("config_hash"),
        "triptych": result.get("version"),
    }
    return {name: MISSING if value is None else str(value) for name, value in values.items()}


ENVIRONMENT = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)

STYLE = """
:root { color-scheme: light dark; --ground: #fff; --raised: #f6f7f9; --ink: #1b1f24; --faint: #667080; --rule: #dde1e7;
  --accent: #0a6aa6; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171b; --raised: #1d2127; --ink: #e6e9ee; --faint: #97a1b0; --rule: #323841; --accent: #6cb8ee; }
}
body { margin: 0 auto; max-width: 100rem; padding: 2.5rem 1.5rem 4rem; background: var(--ground); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.7rem; font-weight: 650; letter-spacing: -.015em; margin: 0 0 .2rem; }
h2 { font-size: 1.1rem; font-weight: 600; margin: 2.6rem 0 .7rem; }
p, ul { margin: .4rem 0; } .faint { color: var(--faint); }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
.scroll { overflow: auto; max-height: 80vh; border: 1px solid var(--rule); border-radius: 8px; }
table { border-collapse: separate; border-spacing: 0; width: 100%; font-size: .87rem;
  font-variant-numeric: tabular-nums; }
thead { position: sticky; top: 0; z-index: 2; }
th { background: var(--raised); font-size: .8rem; font-weight: 600; color: var(--faint); vertical-align: bottom; }
th, td { padding: .45rem .6rem; text-align: right; border-bottom: 1px solid var(--rule); }
tbody tr:last-child td { border-bottom: 0; }
tbody tr:hover td { background: var(--raised); }
td { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--ground); }
th:first-child { background: var(--raised); }
th.blank:first-child { position: static; border-bottom: 0; }
th.span { text-align: center; border-bottom: 1px solid var(--rule); }
tr.unfinished td { color: var(--faint); font-style: italic; }
.dot { display: inline-block; width: .65rem; height: .65rem; border-radius: 50%; margin-right: .55rem; }
.notes { list-style: none; padding: 0; font-size: .82rem; color: var(--faint); }
.notes li { overflow-wrap: anywhere; }
"""

# Plotly draws on canvas and SVG of its own, out of reach of the style sheet: repaint when the ground changes.
REPAINT = """
const dark = matchMedia("(prefers-color-scheme: dark)");
function repaint() {
  const style = getComputedStyle(document.documentElement);
  const [ink, ground] = ["--ink", "--raised"].map((name) => style.getPropertyValue(name).trim());
  for (const figure of document.querySelectorAll(".plotly-graph-div"))
    Plotly.relayout(figure, { "font.color": ink, "hoverlabel.bgcolor": ground, "hoverlabel.font.color": ink });
}
dark.addEventListener("change", repaint);
repaint();
"""

TEMPLATE = (
    """\
{% macro head(header, spans) %}
<thead>
{% if spans | map(attribute=0) | select | list %}
<tr>
{% for name, width in spans %}
<th class="{{ "span" if name else "blank" }}" colspan="{{ width }}">{{ name }}</th>
{% endfor %}
</tr>
{% endif %}
<tr>{% for _, name in header %}<th>{{ name }}</th>{% endfor %}</tr>
</thead>
{% endmacro %}
{% macro listed(notes) %}
<ul class="notes">{% for note in notes %}<li>{{ note }}</li>{% endfor %}</ul>
{% endmacro %}
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>"""
    + STYLE
    + """</style>
{% if plotly %}<script>{{ plotly }}</script>{% endif %}
</head>
<body>
<h1>{{ title }}</h1>
<p class="faint">{{ runs | length }} run{{ "s" if runs | length != 1 }}, {{ rows | length }} row{{ "s" if rows | length
 != 1 }}; several seeds are mean ± standard deviation.</p>
<h2>Comparison</h2>
<div class="scroll"><table>
{{ head(header, spans) }}
<tbody>
{% for row in rows %}
<tr{% if not row.runs[0].result %} class="unfinished"{% endif %}>
<td><span class="dot" style="background: {{ row.colour }}"></span>
{% if row.runs | length == 1 %}
<a href="{{ link(row.runs[0]) }}">{{ row.cells[0] }}</a>
{% else %}
{{ row.cells[0] }}{% for run in row.runs %} · <a href="{{ link(run) }}">{{ run.seed }}</a>{% endfor %}
{% endif %}
</td>{% for cell in row.cells[1:] %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
{{ listed(notes) }}
{% for section, figure in sections %}
<h2>{{ section.title }}</h2>
{% if figure %}{{ figure }}{% endif %}
{% if section.table is not none %}
<div class="scroll"><table>
{{ head(section.table.columns, spans_of(section.table.columns)) }}
<tbody>{% for row in section.table.itertuples(index=False) %}
<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table></div>
{% endif %}
{{ listed(section.notes) }}
{% endfor %}
<h2>Runs</h2>
<div class="scroll"><table>
<thead><tr><th>run</th>{% for name in provenance(runs[0]) %}<th>{{ name }}</th>{% endfor %}</tr></thead>
<tbody>
{% for run in runs %}
<tr{% if not run.result %} class="unfinished"{% endif %}><td><a href="{{ link(run) }}">{{ run.name }}</a></td>
{% for cell in provenance(run).values() %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
{% if plotly %}<script>"""
    + REPAINT
    + """</script>{% endif %}
</body>
</html>
"""
)
