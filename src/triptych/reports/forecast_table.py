"""The table of a forecast: what each arm will cost, and all together."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.reports.columns import time_unit
from triptych.reports.table import Table, make_cells
from triptych.sweeps.forecast import Estimate
from triptych.sweeps.forecast_figures import figures

OPTIONAL = ("tokens/s", "tokens (M)", "disk (GB)", "steps")
"""Columns that a narrow terminal leaves out, the first to go first."""


def forecast_table(arms: Sequence[Estimate], notes: Sequence[str], price: float | None = None) -> Table:
    """Return the figures as text, a row for each arm and one for the sum, and sentences below them.

    Args:
        arms: estimated.
        notes: the sentences.
        price: price of one device for one hour; None for no prices.
    """
    found = figures(arms, price)
    unit, scale = time_unit(found["seconds"].sum())
    rows = [
        [
            row.arm,
            f"{row.parameters / 1e6:.2f}",
            f"{row.steps:,}",
            *(["shared"] * 3 if row.shared else _costs(row.tokens, row.flops, row.seconds / scale, row.measured)),
            f"{row.disk_bytes / 1e9:.2f}",
            f"{row.memory_bytes / 1e9:.2f}",
            f"{row.tokens_per_second:,.0f}",
            *([] if price is None else [f"{row.price:,.2f}"]),
        ]
        for row in found.itertuples()
    ]
    total, most = found.sum(numeric_only=True), found["memory_bytes"].max()
    prices = [] if price is None else [f"{total['price']:,.2f}"]
    costs = _costs(total["tokens"], total["flops"], total["seconds"] / scale)
    rows.append(["sum", "", "", *costs, f"{total['disk_bytes'] / 1e9:.2f}", f"{most / 1e9:.2f}", "", *prices])
    names = ["arm", "parameters (M)", "steps", "tokens (M)", "FLOPs", unit, "disk (GB)", "memory (GB)", "tokens/s"]
    names += [] if price is None else ["price"]
    return Table("Forecast", make_cells(names, rows), notes, optional=[*map(names.index, OPTIONAL)])


def _costs(tokens: float, flops: float, time: float, measured: bool = True) -> list[str]:
    return [f"{tokens / 1e6:.2f}", f"{flops:.2e}", f"{'' if measured else '~'}{time:.2f}"]
