"""Plotly figures of the runs. An arm has the same colour in all of them, legible on light and dark backgrounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from triptych.reports.arm_rows import ArmRow
from triptych.reports.grid import MeasuredGrid

PALETTE = ("#0a84c6", "#e0701a", "#129e77", "#c9579b", "#8a6fd1", "#b08d00", "#5a8f29", "#c8453b")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
GREY = "#737c88"
GRID = "rgba(128, 128, 128, 0.22)"

METRICS = {"loss": ("Validation loss (nats a token)", ".4f"), "bleu": ("Validation BLEU", ".2f")}
"""The validation metrics that runs log: the title of the axis and the format of the values."""
PROGRESS = {
    "step": ("steps", "optimizer steps"),
    "tokens": ("tokens", "training tokens, source and target"),
    "flops": ("FLOPs", "training FLOPs (analytic, interpolated by tokens)"),
    "hours": ("hours", "hours of training (interpolated by tokens)"),
}
"""What a curve can be drawn over: columns of ``StoredRun.curve``, each with its button and the title of its axis."""


def colours(rows: Sequence[ArmRow]) -> dict[str, str]:
    """Return a colour for each arm, by its label. Colours repeat after eight arms; the markers then differ."""
    return {row.label: PALETTE[i % len(PALETTE)] for i, row in enumerate(rows)}


def bleu_by_length(rows: Sequence[ArmRow], test_set: str) -> go.Figure | None:
    """Draw the BLEU of each range of source lengths (words), a line for each arm.

    A point is the mean over seeds, its whiskers are one standard deviation (ddof=1). None if no run has such figures.
    """
    figure = go.Figure()
    styles = _styles(rows)
    buckets: dict[str, int] = {}
    for row in rows:
        found = [part for run in row.runs for part in run.tests.get(test_set, {}).get("by_length") or []]
        frame = pd.DataFrame(found, columns=["label", "low", "sentences", "bleu"]).dropna(subset="bleu")
        if frame.empty:
            continue
        buckets |= dict(zip(frame["label"], frame["low"], strict=True))
        means = frame.groupby(["low", "label"], as_index=False).agg(
            bleu=("bleu", "mean"), std=("bleu", "std"), sentences=("sentences", "first")
        )
        figure.add_scatter(
            x=means["label"].tolist(),
            y=means["bleu"].tolist(),
            error_y={"array": means["std"].tolist(), "visible": bool(means["std"].notna().any()), "thickness": 1.2},
            customdata=means["sentences"].tolist(),
            hovertemplate="%{y:.2f} BLEU, %{customdata} sentences",
            name=row.label,
            mode="lines+markers",
            **styles[row.label],
        )
    if not buckets:
        return None
    style_axes(figure, x="source length (words)", y=f"BLEU, {test_set}")
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=sorted(buckets, key=lambda b: buckets[b]))
    return figure


def bleu_by_parameters(rows: Sequence[ArmRow], test_set: str) -> go.Figure | None:
    """Draw BLEU over the number of parameters (logarithmic), a point for each run; None without scores."""
    figure = go.Figure()
    styles = _styles(rows)
    for row in rows:
        found = [run for run in row.finished if "bleu" in run.tests.get(test_set, {})]
        if found:
            figure.add_scatter(
                x=[run.result["model"]["parameters"] for run in found if run.result],
                y=[run.tests[test_set]["bleu"] for run in found],
                customdata=[run.seed for run in found],
                hovertemplate="%{y:.2f} BLEU, %{x:,} parameters, seed %{customdata}",
                name=row.label,
                mode="markers",
                marker=styles[row.label]["marker"],
            )
    if not figure.data:
        return None
    style_axes(figure, x="parameters", y=f"BLEU, {test_set}")
    figure.update_xaxes(type="log")
    figure.update_layout(hovermode="closest")
    return figure


def validation(rows: Sequence[ArmRow], metric: str) -> go.Figure | None:
    """Draw a validation metric over steps, a line for each seed; None if no run has logged it.

    Buttons switch to tokens, FLOPs or hours.
    """
    figure = go.Figure()
    styles = _styles(rows)
    title, form = METRICS[metric]
    axes: dict[str, list[list[float]]] = {name: [] for name in PROGRESS}
    for row in rows:
        curves = [(run, curve) for run in row.runs if not (curve := run.curve(metric)).empty]
        for i, (run, curve) in enumerate(curves):
            for name, values in axes.items():
                values.append(curve[name].tolist())
            seed = "" if run.seed is None else f", seed {run.seed}"
            figure.add_scatter(
                x=curve["step"].tolist(),
                y=curve["value"].tolist(),
                hovertemplate=f"%{{y:{form}}}{seed}",
                name=row.label,
                legendgroup=row.label,
                showlegend=i == 0,
                mode="lines+markers",
                **styles[row.label],
            )
    if not figure.data:
        return None
    style_axes(figure, x=PROGRESS["step"][1], y=title)
    add_buttons(figure, {PROGRESS[name]: values for name, values in axes.items()})
    return figure


def add_buttons(figure: go.Figure, axes: Mapping[tuple[str, str], Sequence[Sequence[float]]]) -> None:
    """Add buttons that switch a figure between several horizontal axes.

    Args:
        figure: the figure.
        axes: for each button and title of its axis, the positions of the points of every trace.
    """
    buttons = [
        {"label": button, "method": "update", "args": [{"x": values}, {"xaxis.title.text": axis}]}
        for (button, axis), values in axes.items()
    ]
    menu = {"type": "buttons", "direction": "right", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom"}
    figure.update_layout(
        updatemenus=[
            {**menu, "buttons": buttons, "bgcolor": "rgba(0,0,0,0)", "bordercolor": GRID, "font": {"color": GREY}}
        ]
    )


def over_grid(found: MeasuredGrid) -> go.Figure | None:
    """Draw the measure over the columns of a grid, a line for each line of it; None if nothing was measured.

    Lines of one value of the first parameter share a colour. The axis is logarithmic where all columns are positive.
    """
    grid, figure = found.grid, go.Figure()
    other_settings = list(dict.fromkeys(others for _, others in grid.lines))
    for group, others in grid.lines:
        values = [found.value(grid.arms[group, others, column]) for column in grid.columns]
        colour = PALETTE[grid.groups.index(group) % len(PALETTE)]
        named = [f"{name}={value}" for name, value in zip(grid.others, others, strict=True)]
        figure.add_scatter(
            x=[float(column) for column in grid.columns],
            y=values,
            hovertemplate=f"%{{y:.{found.measure.decimals}f}}",
            name=" ".join([group, *named]),
            mode="lines+markers",
            line={"color": colour, "width": 2, "dash": DASHES[other_settings.index(others) % len(DASHES)]},
            marker={"color": colour, "size": 7},
        )
    if all(value is None for line in figure.data for value in line.y):
        return None
    style_axes(figure, x=grid.column, y=f"{found.measure.title} ({found.measure.unit})")
    if all(float(column) > 0 for column in grid.columns):
        figure.update_xaxes(type="log")
    return figure


def _styles(rows: Sequence[ArmRow]) -> dict[str, dict[str, dict[str, object]]]:
    return {
        label: {
            "line": {"color": colour, "width": 2},
            "marker": {"color": colour, "size": 7, "symbol": SYMBOLS[i // len(PALETTE) % len(SYMBOLS)]},
        }
        for i, (label, colour) in enumerate(colours(rows).items())
    }


def style_axes(figure: go.Figure, x: str, y: str) -> None:
    """Give a figure the axes, fonts and margins that all figures have, and these titles of its axes."""
    axis = {"gridcolor": GRID, "linecolor": GRID, "zeroline": False, "showline": True, "automargin": True}
    figure.update_layout(
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 13, "color": GREY},
        height=420,
        margin={"l": 60, "r": 16, "t": 48, "b": 56},
        hovermode="x unified",
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": -0.24, "yanchor": "top"},
        xaxis={**axis, "title": {"text": x}},
        yaxis={**axis, "title": {"text": y}},
    )
