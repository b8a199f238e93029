"""The figure of validation loss against what training had spent: tokens, FLOPs, and seconds if speeds are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from triptych.config.equal import FLOPS, SECONDS, TOKENS
from triptych.reports.arm_rows import ArmRow
from triptych.reports.equal_amounts import Course, course_of
from triptych.reports.figures import METRICS, add_buttons, colours, style_axes
from triptych.runs.measured_speeds import MeasuredSpeeds

TITLE = "Validation loss at equal amounts"
AXES = {
    TOKENS: ("tokens", "training tokens, source and target"),
    FLOPS: ("FLOPs", "training FLOPs (analytic, interpolated by tokens)"),
    SECONDS: ("seconds", "seconds of training alone on a machine (tokens divided by a measured speed)"),
}
"""What the losses are drawn against: its button and the title of its axis."""
BAND = 0.18
"""Opacity of the band of seeds."""


def loss_by_amount(rows: Sequence[ArmRow], speeds: MeasuredSpeeds | None) -> go.Figure | None:
    """Draw the validation loss, a line for the mean of an arm's seeds and a band from the lowest to the highest seed.

    Buttons switch between tokens, FLOPs and, if all arms have a speed, seconds. None if no run has such figures.

    Args:
        rows: the arms.
        speeds: speeds that were measured alone, if any.

    Raises:
        UserError: the metrics of a run cannot be read.
    """
    figure, shades = go.Figure(), colours(rows)
    axes: dict[str, list[list[float]]] = {meaning: [] for meaning in AXES}
    for row in rows:
        speed = speeds.arms.get(row.arm) if speeds else None
        found = [course_of(run, speed.tokens_per_second if speed else None) for run in row.finished]
        courses = [course for course in found if course and TOKENS in course.spent]
        if not courses:
            continue
        low, mean, high = _over_seeds(courses)
        for meaning, values in axes.items():
            spent = [course.spent[meaning][: len(mean)] for course in courses if meaning in course.spent]
            if len(spent) == len(courses):
                line = np.mean(spent, axis=0).tolist()
                values += [[*line, *line[::-1]], line]
        shade = shades[row.label]
        figure.add_scatter(
            x=axes[TOKENS][-2],
            y=[*high, *low[::-1]],
            fill="toself",
            fillcolor=_faint(shade),
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
            legendgroup=row.label,
            showlegend=False,
        )
        figure.add_scatter(
            x=axes[TOKENS][-1],
            y=mean,
            hovertemplate=f"%{{y:{METRICS['loss'][1]}}}, {len(courses)} seed{'s' if len(courses) > 1 else ''}",
            name=row.label,
            legendgroup=row.label,
            mode="lines",
            line={"color": shade, "width": 2},
        )
    if not figure.data:
        return None
    style_axes(figure, x=AXES[TOKENS][1], y=METRICS["loss"][0])
    add_buttons(figure, {AXES[meaning]: values for meaning, values in axes.items() if len(values) == len(figure.data)})
    return figure


def _over_seeds(courses: Sequence[Course]) -> tuple[list[float], list[float], list[float]]:
    """Return the lowest, the mean and the highest loss of the seeds at each validation that all of them have."""
    count = min(len(course.losses) for course in courses)
    losses = np.array([course.losses[:count] for course in courses])
    return losses.min(0).tolist(), losses.mean(0).tolist(), losses.max(0).tolist()


def _faint(colour: str) -> str:
    """Return a colour ``#rrggbb`` as one that shows what lies behind it."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {BAND})"
