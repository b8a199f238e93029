"""Build the report as one HTML page that holds everything it needs, plotly's code included, so it works offline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import plotly.graph_objects as go
from jinja2 import Environment
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from triptych.reports.arm_rows import runs_of
from triptych.reports.formats import spans
from triptych.reports.table import Table


def build_page(
    tables: Sequence[Table],
    figures: Sequence[tuple[str, go.Figure]],
    colours: Mapping[str, str],
    home: Path,
) -> str:
    """Return the page as text.

    Args:
        tables: the tables; the first one's title is the page's, and the figures follow it.
        figures: the figures, with their titles.
        colours: the colour of each arm, by its label.
        home: the folder of the page, which its links start from.
    """
    drawn = [
        (
            title,
            Markup(
                figure.to_html(
                    full_html=False,
                    include_plotlyjs=False,
                    div_id=f"figure-{i}",
                    default_height="420px",
                    config={"displayModeBar": False, "responsive": True},
                )
            ),
        )
        for i, (title, figure) in enumerate(figures)
    ]
    first, *others = tables
    return ENVIRONMENT.from_string(TEMPLATE).render(
        table=first,
        figures=drawn,
        tables=others,
        colours=colours,
        runs=runs_of(first.rows),
        spans=spans,
        home=home,
        plotly=Markup(get_plotlyjs()) if drawn else None,
    )


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
th.prose, td.prose { text-align: left; white-space: normal; min-width: 8rem; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--ground); }
th:first-child { background: var(--raised); }
th.blank:first-child { position: static; border-bottom: 0; }
th.span { text-align: center; border-bottom: 1px solid var(--rule); }
tr.unfinished td { color: var(--faint); font-style: italic; }
.dot { display: inline-block; width: .65rem; height: .65rem; border-radius: 50%; margin-right: .55rem; }
.notes { list-style: none; padding: 0; font-size: .82rem; color: var(--faint); }
.notes li { overflow-wrap: anywhere; }
"""

# The style sheet does not reach inside plotly's figures, so they are repainted when the colour scheme changes.
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
{% macro draw(table) %}
{% for sentence in table.lead %}<p>{{ sentence }}</p>{% endfor %}
<div class="scroll"><table>
<thead>
{% if spans(table.cells.columns) | map(attribute=0) | select | list %}
<tr>
{% for name, width in spans(table.cells.columns) %}
<th class="{{ "span" if name else "blank" }}" colspan="{{ width }}">{{ name }}</th>
{% endfor %}
</tr>
{% endif %}
<tr>{% for _, name in table.cells.columns %}
<th{% if loop.index0 in table.prose %} class="prose"{% endif %}>{{ name }}</th>{% endfor %}</tr>
</thead>
<tbody>
{% for line in table.cells.itertuples(index=False) %}
{% set i = loop.index0 %}
{% set row = table.rows[i] if i < table.rows | length else none %}
<tr{% if row and not row.finished %} class="unfinished"{% endif %}>
{% for cell in line %}
{% set run = table.links[i, loop.index0] if (i, loop.index0) in table.links else none %}
<td{% if loop.index0 in table.prose %} class="prose"{% endif %}>
{%- if loop.first and row %}<span class="dot" style="background: {{ colours[row.label] }}"></span>{% endif %}
{%- if run %}<a href="{{ run.link(home) }}">{{ cell }}</a>
{%- elif (i, loop.index0) in table.best %}<b>{{ cell }}</b>
{%- else %}{{ cell }}{% endif %}
</td>
{% endfor %}
</tr>
{% endfor %}
</tbody></table></div>
<ul class="notes">{% for note in table.all_notes %}<li>{{ note }}</li>{% endfor %}</ul>
{% endmacro %}
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ table.title }}</title>
<style>"""
    + STYLE
    + """</style>
{% if plotly %}<script>{{ plotly }}</script>{% endif %}
</head>
<body>
<h1>{{ table.title }}</h1>
<p class="faint">{{ runs | length }} run{{ "s" if runs | length != 1 }}, {{ table.rows | length }} row{{ "s" if
 table.rows | length != 1 }}; several seeds are mean ± standard deviation. The runs are listed below.</p>
{{ draw(table) }}
{% for title, figure in figures %}
<h2>{{ title }}</h2>
{{ figure }}
{% endfor %}
{% for table in tables %}
<h2>{{ table.title }}</h2>
{{ draw(table) }}
{% endfor %}
{% if plotly %}<script>"""
    + REPAINT
    + """</script>{% endif %}
</body>
</html>
"""
)
