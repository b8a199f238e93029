"""``triptych forecast``: what a run or a sweep will cost, as a table."""

from __future__ import annotations

import argparse
from pathlib import Path

from triptych.commands.arguments import overrides_of
from triptych.commands.printing import print_small_table, show_next
from triptych.commands.threads import choose_threads
from triptych.config.composition import MULTIRUN
from triptych.config.next_step import after_forecast
from triptych.files import require_output
from triptych.reports.forecast_table import forecast_table
from triptych.reports.labels import label_arms
from triptych.runs.measured_speeds import write_speeds
from triptych.sweeps.arm_speeds import JOBS, refuse_company, speeds_of
from triptych.sweeps.forecast import forecast_arms
from triptych.sweeps.forecast_figures import notes


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
    parser.add_argument("--measure", type=int, metavar="N", help="train each arm for N steps here to know its speed")
    speeds_help = "write the measured speeds to FILE, for reports that compare arms at equal seconds"
    parser.add_argument("--speeds", type=Path, metavar="FILE", help=speeds_help)
    parser.add_argument("--pairs", type=int, metavar="N", help="read no text, but assume N pairs of sentences")
    parser.add_argument("--price", type=float, help="price of one device for one hour")
    options, rest = parser.parse_known_args(arguments)
    with overrides_of("forecast", rest) as overrides:
        choose_threads()
        given = [one for one in overrides if one not in MULTIRUN]
        if options.speeds:
            require_output(str(options.speeds), {}, option="--speeds ")
            refuse_company(options.measure)
            given.append(JOBS)
        arms = forecast_arms(given, options.device, options.measure, options.pairs)
        if options.speeds:
            unseeded = [[one for one in arm.overrides if not one.startswith("seed=")] for arm in arms]
            names = label_arms(unseeded, arms[0].reference)
            write_speeds(options.speeds, speeds_of(arms, names, options.measure))
    print_small_table(forecast_table(arms, notes(arms, options.device, options.measure, options.pairs), options.price))
    show_next(after_forecast(rest, several=len(arms) > 1))
    return 0
