"""``triptych forecast``: what a run or a sweep will cost, as a table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console

from triptych.commands.arguments import overrides_of
from triptych.commands.printing import show_next
from triptych.commands.threads import choose_threads
from triptych.config.composition import MULTIRUN
from triptych.config.next_step import after_forecast
from triptych.files import require_folder
from triptych.reports.columns import time_unit
from triptych.reports.labels import label_arms
from triptych.reports.table import Table, make_cells
from triptych.reports.terminal import WIDER, print_table
from triptych.runs.measured_speeds import write_speeds
from triptych.sweeps.alone import JOBS, refuse_company, speeds_of
from triptych.sweeps.forecast import Estimate, figures, forecast_arms, notes

OPTIONAL = ("tokens/s", "tokens (M)", "disk (GB)", "steps")
"""Columns that a narrow terminal leaves out, the first to go first."""


def main(arguments: list[str]) -> int:
    """Print a row for each arm, and the sum.

    Raises:
        UserError: whatever training would refuse.
    """
    parser = argparse.ArgumentParser(
        prog="triptych forecast",
        description="What a run or a sweep will cost, before anything is trained.",
        epilog="It takes every key of triptych train: see triptych train --help.",
    )
    parser.add_argument("--device", help="name of a GPU (default: where the strategy would train here)")
    parser.add_argument(
        "--measure", type=int, metavar="N", help="train each arm for N steps to know its speed on this machine"
    )
    parser.add_argument(
        "--speeds",
        type=Path,
        metavar="FILE",
        help="write the measured speeds to FILE, for reports that compare arms at equal seconds",
    )
    options, rest = parser.parse_known_args(arguments)
    with overrides_of("forecast", rest) as overrides:
        choose_threads()
        given = [one for one in overrides if one not in MULTIRUN]
        if options.speeds:
            refuse_company(options.measure)
            require_folder(options.speeds.parent)
            given.append(JOBS)
        arms = forecast_arms(given, options.device, options.measure)
        if options.speeds:
            names = label_arms([[one for one in arm.overrides if not one.startswith("seed=")] for arm in arms], None)
            write_speeds(options.speeds, speeds_of(arms, names, options.measure))
    cells = table(arms)
    names = list(cells.columns.get_level_values(1))
    shown = Table(
        "Forecast", cells, notes(arms, options.device, options.measure), optional=list(map(names.index, OPTIONAL))
    )
    print_table(shown, Console(), elsewhere=WIDER)
    show_next(after_forecast(rest))
    return 0


def table(arms: Sequence[Estimate]) -> pd.DataFrame:
    """Return the figures as text, a row for each arm and one for the sum."""
    found = figures(arms)
    unit, scale = time_unit(found["seconds"].sum())
    rows = [
        [
            row.arm,
            f"{row.parameters / 1e6:.2f}",
            f"{row.steps:,}",
            *(["shared"] * 3 if row.shared else _costs(row.tokens, row.flops, row.seconds / scale)),
            f"{row.disk_bytes / 1e9:.2f}",
            f"{row.memory_bytes / 1e9:.2f}",
            f"{'' if row.measured else '~'}{row.tokens_per_second:,.0f}",
        ]
        for row in found.itertuples()
    ]
    total, most = found.sum(numeric_only=True), found["memory_bytes"].max()
    costs = _costs(total["tokens"], total["flops"], total["seconds"] / scale)
    rows.append(["sum", "", "", *costs, f"{total['disk_bytes'] / 1e9:.2f}", f"{most / 1e9:.2f}", ""])
    names = ["arm", "parameters (M)", "steps", "tokens (M)", "FLOPs", unit, "disk (GB)", "memory (GB)", "tokens/s"]
    return make_cells(names, rows)


def _costs(tokens: float, flops: float, time: float) -> list[str]:
    return [f"{tokens / 1e6:.2f}", f"{flops:.2e}", f"{time:.2f}"]
