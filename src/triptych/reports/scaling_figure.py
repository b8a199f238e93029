"""The figure of a study of scaling: loss over training FLOPs, with the frontier and the power law of each series."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import plotly.graph_objects as go

from triptych.reports.figures import PALETTE, style_axes
from triptych.reports.scaling import Point, Scaling, interval

GRID_POINTS = 60
"""Points of a fitted curve."""


def loss_by_flops(scaling: Scaling) -> go.Figure | None:
    """Draw the loss of each arm over its training FLOPs, both axes logarithmic; None if no arm has a result.

    A series has one colour. Thin lines join its arms of one size, a thick line its frontier; the fit is dashed, with a
    band for its 95% interval.
    """
    figure = go.Figure()
    for i, (name, points) in enumerate(scaling.series.items()):
        colour = PALETTE[i % len(PALETTE)]
        _draw_fit(figure, scaling, name, colour)
        for size, arms in _by_size(points).items():
            figure.add_scatter(
                x=[arm.flops for arm in arms],
                y=[arm.loss for arm in arms],
                customdata=[arm.row.label for arm in arms],
                hovertemplate="%{customdata}: %{y:.3f} at %{x:.2e} FLOPs<extra></extra>",
                name=f"{name}, {size / 1e6:.2f}M",
                legendgroup=name,
                showlegend=False,
                mode="lines+markers",
                line={"color": colour, "width": 1},
                marker={"color": colour, "size": 6},
                opacity=0.6,
            )
        front = scaling.frontiers[name]
        figure.add_scatter(
            x=[arm.flops for arm in front],
            y=[arm.loss for arm in front],
            hoverinfo="skip",
            name=name,
            legendgroup=name,
            mode="lines",
            line={"color": colour, "width": 4},
        )
    if not figure.data:
        return None
    style_axes(figure, x="training FLOPs", y=f"{scaling.measure.title} ({scaling.measure.unit})")
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    figure.update_layout(hovermode="closest")
    return figure


def _draw_fit(figure: go.Figure, scaling: Scaling, name: str, colour: str) -> None:
    """Draw the power law of a series over the FLOPs of its frontier, and its interval."""
    if scaling.laws is None or name not in scaling.fitted:
        return
    series, front = scaling.fitted.index(name), scaling.frontiers[name]
    flops = np.geomspace(front[0].flops, front[-1].flops, GRID_POINTS)
    shared = {"x": flops.tolist(), "mode": "lines", "legendgroup": name, "showlegend": False, "hoverinfo": "skip"}
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    lower, upper = interval([laws.loss(series, flops) for laws in scaling.resampled])
    figure.add_scatter(y=lower.tolist(), line={"width": 0}, name=f"{name}, interval", **shared)
    figure.add_scatter(
        y=upper.tolist(),
        line={"width": 0},
        fill="tonexty",
        fillcolor=f"rgba({red}, {green}, {blue}, 0.15)",
        name=f"{name}, interval",
        **shared,
    )
    figure.add_scatter(
        y=scaling.laws.loss(series, flops).tolist(),
        line={"color": colour, "width": 2, "dash": "dash"},
        name=f"{name}, power law",
        **shared,
    )


def _by_size(points: list[Point]) -> dict[int, list[Point]]:
    """Return the points of each size, by FLOPs."""
    found: dict[int, list[Point]] = defaultdict(list)
    for point in points:
        found[point.size].append(point)
    return dict(sorted(found.items()))
