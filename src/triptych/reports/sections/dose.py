"""A study whose arms are doses of one quantity."""

from __future__ import annotations

from triptych.reports.analysis import Analysis
from triptych.reports.dose import respond, tabulate_dose
from triptych.reports.dose_figure import draw_response
from triptych.reports.sections.section import Section


def section(analysis: Analysis) -> Section:
    """Return the line of each measure over the dose, as a table and as figures."""
    dose = analysis.study.dose
    if not dose:
        return Section()
    responses = [respond(dose, analysis.rows, analysis.compared(measure)) for measure in analysis.measures]
    drawn = [(f"{one.measure.title} by {dose.name}", draw_response(one)) for one in responses]
    return Section({"dose": tabulate_dose(responses)}, figures=drawn)
