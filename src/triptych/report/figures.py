"""Plotly figures of the runs. An arm has one colour in all of them, legible on light and on dark ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from triptych.report.results import Run

PALETTE = ("#0a84c6", "#e0701a", "#129e77", "#c9579b", "#8a6fd1", "#b08d00", "#5a8f29", "#c8453b")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x")
GREY = "#737c88"
GRID = "rgba(128, 128, 128, 0.22)"

Arms = Mapping[str, Sequence[Run]]
"""The runs of every arm, one a seed, by the arm's label, in the order of the table."""


def colours(labels: Sequence[str]) -> dict[str, str]:
    """A colour an arm; they repeat after eight, and then the markers tell arms apart."""
    return {label: PALETTE[i % len(PALETTE)] for i, label in enumerate(labels)}


def bleu_by_length(arms: Arms, test_set: str) -> go.Figure | None:
    """BLEU of each range of source lengths (words), a line an arm: mean over seeds, whiskers of one std (ddof=1).

    None if no run has such figures.
    """
    figure = go.Figure()
    styles = _styles(arms)
    buckets: dict[str, int] = {}
    for label, runs in arms.items():
        rows = [row for run in runs for row in run.tests.get(test_set, {}).get("by_length") or []]
        frame = pd.DataFrame(rows, columns=["label", "low", "sentences", "bleu"]).dropna(subset="bleu")
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
            name=label,
            mode="lines+markers",
            **styles[label],
        )
    if not buckets:
        return None
    _dress(figure, x="source length (words)", y=f"BLEU, {test_set}")
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=sorted(buckets, key=lambda b: buckets[b]))
    return figure


METRICS = {"loss": ("Validation loss (nats a token)", ".4f"), "bleu": ("Validation BLEU", ".2f")}
"""The validation metrics that runs log: their axes' titles and how their values are printed."""


def validation(arms: Arms, metric: str) -> go.Figure | None:
    """A validation metric over steps, or over tokens where a button asks for it; a line a seed.

    None if no run has logged it.
    """
    figure = go.Figure()
    styles = _styles(arms)
    title, form = METRICS[metric]
    axes: dict[str, list[list[float]]] = {"step": [], "tokens": []}
    for label, runs in arms.items():
        curves = [(run, curve) for run in runs if not (curve := run.curve(metric)).empty]
        for i, (run, curve) in enumerate(curves):
            for name, values in axes.items():
                values.append(curve[name].tolist())
            seed = "" if run.seed is None else f", seed {run.seed}"
            figure.add_scatter(
                x=curve["step"].tolist(),
                y=curve["value"].tolist(),
                hovertemplate=f"%{{y:{form}}}{seed}",
                name=label,
                legendgroup=label,
                showlegend=i == 0,
                mode="lines+markers",
                **styles[label],
            )
    if not figure.data:
        return None
    _dress(figure, x="optimizer steps", y=title)
    scales = {"step": "optimizer steps", "tokens": "training tokens, source and target"}
    buttons = [
        {"label": name, "method": "update", "args": [{"x": axes[name]}, {"xaxis.title.text": scale}]}
        for name, scale in scales.items()
    ]
    menu = {"type": "buttons", "direction": "right", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom"}
    figure.update_layout(
        updatemenus=[
            {**menu, "buttons": buttons, "bgcolor": "rgba(0,0,0,0)", "bordercolor": GRID, "font": {"color": GREY}}
        ]
    )
    return figure


def _styles(arms: Arms) -> dict[str, dict[str, object]]:
    return {
        label: {
            "line": {"color": colour, "width": 2},
            "marker": {"color": colour, "size": 7, "symbol": SYMBOLS[i // len(PALETTE) % len(SYMBOLS)]},
        }
        for i, (label, colour) in enumerate(colours(list(arms)).items())
    }


def _dress(figure: go.Figure, x: str, y: str) -> None:
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
