"""A study that names several meanings of equal."""

from __future__ import annotations

from triptych.reports import amount_figure
from triptych.reports.analysis import Analysis
from triptych.reports.equal_table import tabulate_equal
from triptych.reports.sections.section import Section


def section(analysis: Analysis) -> Section:
    """Return the verdicts by meaning of equal, and the losses at equal amounts."""
    table = tabulate_equal(analysis.study, analysis.rows, analysis.speeds)
    if not table:
        return Section()
    drawn = amount_figure.loss_by_amount(analysis.rows, analysis.speeds)
    return Section({"equal": table}, figures=[(amount_figure.TITLE, drawn)])
