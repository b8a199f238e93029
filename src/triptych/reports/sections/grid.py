"""A sweep that tries every combination of its parameters."""

from __future__ import annotations

from triptych.reports import figures
from triptych.reports.analysis import Analysis
from triptych.reports.grid import Grid, MeasuredGrid, find_grid, tabulate_best, tabulate_grid, tabulate_orders
from triptych.reports.sections import scaling
from triptych.reports.sections.section import Section


def grid_of(analysis: Analysis) -> Grid | None:
    """Return the arms as a grid; None if they make none, or are sizes and budgets, which have a figure of their own."""
    return None if scaling.scaling_of(analysis) else find_grid(analysis.rows)


def section(analysis: Analysis) -> Section:
    """Return the grid in the primary measure, its best trials, and how often two models keep their order."""
    grid, measure = grid_of(analysis), analysis.primary
    if grid is None or measure is None:
        return Section()
    measured = MeasuredGrid(grid, measure, analysis.compared(measure).mean)
    return Section(
        further={
            "grid": tabulate_grid(measured),
            "best trials": tabulate_best(measured),
            "orders": tabulate_orders(measured),
        },
        figures=[(f"{measure.title} by {grid.column}", figures.over_grid(measured))],
    )
