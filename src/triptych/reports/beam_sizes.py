"""What a beam size costs and gains: BLEU and seconds of translating a test set, where arms differ in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import plotly.graph_objects as go

from triptych.reports.arm_rows import ArmRow
from triptych.reports.figures import GRID, PALETTE, SYMBOLS, style_axes
from triptych.reports.table import Table, make_cells

KEY = "beam_size="
"""How the label of an arm gives its beam size."""
FEWEST = 3
"""Smallest number of beam sizes that make a line."""


@dataclass(frozen=True)
class BeamLine:
    """Arms that differ in their beam size alone.

    Attributes:
        name: what tells them from the other lines.
        points: beam size, BLEU and seconds of each arm, means over its seeds; the smallest beam first.
    """

    name: str
    points: tuple[tuple[int, float, float], ...]


def beam_lines(rows: Sequence[ArmRow], test_set: str) -> list[BeamLine]:
    """Return the lines of arms with ``FEWEST`` beam sizes or more.

    Args:
        rows: the arms.
        test_set: the test set that was translated.
    """
    lines: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    for row in rows:
        scores = [run.tests[test_set] for run in row.finished if "bleu" in run.tests.get(test_set, {})]
        others = [part for part in row.label.split() if not part.startswith(KEY)]
        if scores and len(others) < len(row.label.split()):
            bleu, seconds = (fmean(one[key] for one in scores) for key in ("bleu", "seconds"))
            lines[" ".join(others)].append((scores[0]["beam_size"], bleu, seconds))
    return [BeamLine(name, tuple(sorted(points))) for name, points in lines.items() if len(points) >= FEWEST]


def tabulate_beams(rows: Sequence[ArmRow], test_set: str) -> Table | None:
    """Return a table of BLEU and seconds, a line for each arm; None if no arms make a line."""
    lines = beam_lines(rows, test_set)
    if not lines:
        return None
    named = [] if len(lines) == 1 else ["other settings"]
    cells = [
        [*([line.name] if named else []), str(size), f"{bleu:.2f}", f"{seconds:.1f}"]
        for line in lines
        for size, bleu, seconds in line.points
    ]
    note = "Seconds are those of translating the test set, with what else the machine did meanwhile."
    header = [*named, "beam size", "BLEU", "seconds"]
    return Table(f"Beam size, {test_set}", make_cells(header, cells), [note], prose=frozenset(range(len(named))))


def draw_beams(rows: Sequence[ArmRow], test_set: str) -> go.Figure | None:
    """Draw BLEU over beam size, and below it the seconds; None if no arms make a line."""
    figure = go.Figure()
    for i, line in enumerate(beam_lines(rows, test_set)):
        sizes, *values = zip(*line.points, strict=True)
        colour = PALETTE[i % len(PALETTE)]
        for axis, shown, hover in zip(("y", "y2"), values, ("%{y:.2f} BLEU", "%{y:.1f} s"), strict=True):
            figure.add_scatter(
                x=sizes,
                y=shown,
                yaxis=axis,
                hovertemplate=hover,
                name=line.name or "all arms",
                legendgroup=line.name,
                showlegend=axis == "y",
                mode="lines+markers",
                line={"color": colour, "width": 2},
                marker={"color": colour, "size": 7, "symbol": SYMBOLS[i // len(PALETTE) % len(SYMBOLS)]},
            )
    if not figure.data:
        return None
    style_axes(figure, x="beam size", y=f"BLEU, {test_set}")
    figure.update_layout(
        height=560,
        xaxis={"anchor": "y2", "tickmode": "array", "tickvals": sorted({x for trace in figure.data for x in trace.x})},
        yaxis={"domain": [0.54, 1.0]},
        yaxis2={"domain": [0.0, 0.46], "title": {"text": "seconds"}, "rangemode": "tozero", "gridcolor": GRID},
    )
    return figure
