"""The figure of a measure over the doses of a study."""

from __future__ import annotations

import plotly.graph_objects as go

from triptych.reports.dose import Response
from triptych.reports.figures import PALETTE, style_axes


def draw_response(response: Response) -> go.Figure | None:
    """Draw the mean of each arm over its dose, and the line; None if there is no line."""
    if (line := response.line) is None:
        return None
    measure, figure = response.measure, go.Figure()
    doses, means = zip(*response.points, strict=True)
    hover = f"%{{y:.{measure.decimals}f}}"
    figure.add_scatter(x=doses, y=means, mode="markers", name="arm", hovertemplate=hover, marker={"color": PALETTE[0]})
    figure.add_scatter(
        x=response.range, y=(line.start, line.end), mode="lines", name="line", line={"color": PALETTE[1], "width": 2}
    )
    style_axes(figure, x=response.dose.name, y=measure.with_unit)
    return figure
