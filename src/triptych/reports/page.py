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
from triptych.reports.stored_run import StoredRun
from triptych.reports.tables import MISSING, PUBLISHED, Table


def build_page(
    table: Table,
    figures: Sequence[tuple[str, go.Figure]],
    tables: Sequence[Table],
    colours: Mapping[str, str],
    home: Path,
) -> str:
    """Return the page as text.

    Args:
        table: the comparison; its title is the page's.
        figures: the figures below it, with their titles.
        tables: the tables below the figures.
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
    links = {row.label: [_address(run, i, home) for run in row.runs] for i, row in enumerate(table.rows)}
    rows = {row.label: i for i, row in enumerate(table.rows)}
    return ENVIRONMENT.from_string(TEMPLATE).render(
        table=table,
        figures=drawn,
        tables=tables,
        colours=colours,
        runs=runs_of(table.rows),
        sources=_sources,
        spans=spans,
        home=home,
        links=links,
        target=lambda row, cell, span: _target(links[row.label], rows[row.label], cell, span),
        plotly=Markup(get_plotlyjs()) if drawn else None,
    )


def _address(run: StoredRun, number: int, home: Path) -> str:
    """Return where a run's seed or label leads: to its folder, or to the page's list of runs if it has no folder."""
    return run.link(home) if run.has_folder else f"#runs-{number}"


def _target(addresses: Sequence[str], number: int, cell: str, upper_header: str) -> str:
    """Return where a measured cell leads: to its run, or to the page's list of its runs; empty for other cells."""
    if cell in ("", MISSING) or upper_header == PUBLISHED:
        return ""
    return addresses[0] if len(addresses) == 1 else f"#runs-{number}"


def _sources(run: StoredRun) -> dict[str, str]:
    """Return where a run's figures come from. MFU is given with its peak, since it means nothing without."""
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
td + td a { color: inherit; }
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
<div class="scroll"><table>
<thead>
{% if spans(table.cells.columns) | map(attribute=0) | select | list %}
<tr>
{% for name, width in spans(table.cells.columns) %}
<th class="{{ "span" if name else "blank" }}" colspan="{{ width }}">{{ name }}</th>
{% endfor %}
</tr>
{% endif %}
<tr>{% for _, name in table.cells.columns %}<th>{{ name }}</th>{% endfor %}</tr>
</thead>
<tbody>
{% for line in table.cells.itertuples(index=False) %}
{% set i = loop.index0 %}
{% set row = table.rows[i] if i < table.rows | length else none %}
<tr{% if row and not row.finished %} class="unfinished"{% endif %}>
<td>{{ label(line[0], row) }}</td>
{% for cell in line[1:] %}
{% set link = target(row, cell, table.cells.columns[loop.index][0]) if row else "" %}
{% set shown = linked(cell, link) %}
<td>{% if (i, loop.index) in table.best %}<b>{{ shown }}</b>{% else %}{{ shown }}{% endif %}</td>
{% endfor %}
</tr>
{% endfor %}
</tbody></table></div>
<ul class="notes">{% for note in table.notes %}<li>{{ note }}</li>{% endfor %}</ul>
{% endmacro %}
{% macro label(text, row) %}
{% if row %}<span class="dot" style="background: {{ colours[row.label] }}"></span>{% endif %}
{% if row and row.runs | length == 1 %}
<a href="{{ links[row.label][0] }}">{{ text }}</a>
{% else %}
{{ text }}
{% for run in (row.runs if row else []) %}
 · <a href="{{ links[row.label][loop.index0] }}">{{ run.seed }}</a>
{% endfor %}
{% endif %}
{% endmacro %}
{% macro linked(cell, link) %}
{% if link %}<a href="{{ link }}">{{ cell }}</a>{% else %}{{ cell }}{% endif %}
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
 table.rows | length != 1 }}; several seeds are mean ± standard deviation. Each figure links to its run.</p>
<h2>Comparison</h2>
{{ draw(table) }}
{% for title, figure in figures %}
<h2>{{ title }}</h2>
{{ figure }}
{% endfor %}
{% for table in tables %}
<h2>{{ table.title }}</h2>
{{ draw(table) }}
{% endfor %}
{% if runs %}
<h2>Runs</h2>
<div class="scroll"><table>
<thead><tr><th>run</th>{% for name in sources(runs[0]) %}<th>{{ name }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in table.rows %}
{% set i = loop.index0 %}
{% for run in row.runs %}
<tr{% if loop.first %} id="runs-{{ i }}"{% endif %}{% if not run.result %} class="unfinished"{% endif %}>
<td><a href="{{ run.link(home) }}">{{ run.name }}</a></td>
{% for cell in sources(run).values() %}<td>{{ cell }}</td>{% endfor %}
</tr>
{% endfor %}
{% endfor %}
</tbody></table></div>
{% endif %}
{% if plotly %}<script>"""
    + REPAINT
    + """</script>{% endif %}
</body>
</html>
"""
)
