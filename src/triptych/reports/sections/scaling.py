"""A study of scaling: loss over training FLOPs for arms of several sizes and budgets."""

from __future__ import annotations

from triptych.reports import scaling_tables
from triptych.reports.analysis import Analysis
from triptych.reports.scaling import Scaling
from triptych.reports.scaling_figure import loss_by_flops
from triptych.reports.sections.section import Section


def scaling_of(analysis: Analysis) -> Scaling | None:
    """Return the series of a study; None for a study without, or where its primary measure is no loss."""
    series, measure = analysis.study.series, analysis.primary
    if series is None or measure is None or measure.higher_is_better:
        return None
    return Scaling(analysis.rows, series, measure)


def section(analysis: Analysis) -> Section:
    """Return the frontier and power law of each series, the series compared, and the figure of both."""
    scaling = scaling_of(analysis)
    if scaling is None:
        return Section()
    drawn = [("Loss by training FLOPs", loss_by_flops(scaling))]
    if not scaling.series:
        return Section(figures=drawn)
    return Section({"scaling": scaling_tables.budgets(scaling), "series": scaling_tables.pairs(scaling)}, figures=drawn)
