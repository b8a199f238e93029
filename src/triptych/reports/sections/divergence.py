"""A study in which some runs diverged."""

from __future__ import annotations

from triptych.reports.analysis import Analysis
from triptych.reports.divergence import tabulate_diverged
from triptych.reports.sections.grid import grid_of
from triptych.reports.sections.section import Section


def section(analysis: Analysis) -> Section:
    """Return how many runs of each arm diverged."""
    return Section(further={"diverged": tabulate_diverged(analysis.rows, grid_of(analysis))})
