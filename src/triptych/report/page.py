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
    title: str, header: pd.MultiIndex, rows: Sequence[Row], notes: Sequence[str], sections: Sequence[Section], home: Path
) -> str:
    """The page as text.

    Args:
        title: the heading.
        header: (test set, header) of every column of ``rows``.
        rows: one an arm.
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
                config={"displaylogo": False, "responsive": True},
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
        link=lambda run: quote(Path(os.path.relpath(run.folder, home)).as_posix()) + "/",
        plotly=Markup(get_plotlyjs()) if any(figures) else None,
    )


def _spans(header: pd.MultiIndex) -> list[tuple[str, int]]:
    """The upper row of the header: each test set and how many columns it spans."""
    return [(name, len(list(group))) for name, group in groupby(header, key=lambda pair: pair[0])]


def _gigabytes(value: float | None) -> str:
    return "–" if value is None else f"{value / 1e9:.2f}"


def _mfu(train: dict[str, float]) -> str:
    """Utilisation means nothing without the peak that it is a part of."""
    if train.get("mfu") is None or train.get("peak_flops") is None:
        return "–"
    return f"{100 * train['mfu']:.1f}% of {train['peak_flops']:.3g}"


ENVIRONMENT = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
ENVIRONMENT.filters.update(gigabytes=_gigabytes, mfu=_mfu)

STYLE = """
:root { color-scheme: light dark; --ground: #fff; --raised: #f6f7f9; --ink: #1b1f24; --faint: #667080; --rule: #dde1e7;
  --accent: #0a6aa6; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171b; --raised: #1d2127; --ink: #e6e9ee; --faint: #97a1b0; --rule: #323841; --accent: #6cb8ee; }
}
body { margin: 0 auto; max-width: 84rem; padding: 2.5rem 1.5rem 4rem; background: var(--ground); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.7rem; font-weight: 650; letter-spacing: -.015em; margin: 0 0 .2rem; }
h2 { font-size: 1.1rem; font-weight: 600; margin: 2.6rem 0 .7rem; }
p, ul { margin: .4rem 0; } .faint { color: var(--faint); }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
.scroll { overflow: auto; max-height: 80vh; border: 1px solid var(--rule); border-radius: 8px; }
table { border-collapse: separate; border-spacing: 0; width: 100%; font-variant-numeric: tabular-nums; }
thead { position: sticky; top: 0; z-index: 2; }
th { background: var(--raised); font-size: .82rem; font-weight: 600; color: var(--faint); vertical-align: bottom; }
th, td { padding: .5rem .8rem; text-align: right; border-bottom: 1px solid var(--rule); }
tbody tr:last-child td { border-bottom: 0; }
tbody tr:hover td { background: var(--raised); }
td { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--ground); }
th:first-child { background: var(--raised); }
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
<tr>{% for name, width in spans %}<th class="span" colspan="{{ width }}">{{ name }}</th>{% endfor %}</tr>
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
<tr{% if not row.runs[0].result %} class="unfinished"{% endif %}><td><span class="dot" style="background: {{ row.colour }}"></span>
{% if row.runs | length == 1 %}<a href="{{ link(row.runs[0]) }}">{{ row.cells[0] }}</a>
{%- else %}{{ row.cells[0] }}{% for run in row.runs %} <a href="{{ link(run) }}">{{ run.seed }}</a>{% endfor %}{% endif -%}
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
<thead><tr><th>run</th><th>seed</th><th>steps</th><th>device</th><th>peak memory (GB)</th><th>MFU</th>
<th>tokenizer</th><th>data</th><th>config</th><th>triptych</th></tr></thead>
<tbody>
{% for run in runs %}
{% set result = run.result or {} %}{% set train = result.train or {} %}
<tr{% if not result %} class="unfinished"{% endif %}><td><a href="{{ link(run) }}">{{ run.name }}</a></td>
{% for value in (run.seed, train.steps, train.device, train.peak_memory_bytes | gigabytes, train | mfu,
  result.tokenizer.fingerprint if result.tokenizer, result.data.fingerprint if result.data, result.config_hash,
  result.version) %}
<td>{{ "–" if value is none or value is undefined else value }}</td>
{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
{% if plotly %}<script>"""
    + REPAINT
    + """</script>{% endif %}
</body>
</html>
"""
)
