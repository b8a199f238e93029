"""``triptych report FOLDER``: the table of the runs below a folder, on the terminal and as four files."""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.measure import Measurement

from triptych.files import replacing
from triptych.report import figures, significance, tables
from triptych.report.page import Row, Section, build_page
from triptych.report.results import Run, find_runs, refuse_mixtures, test_sets


def main(argv: list[str]) -> int:
    """Prints the table, writes report.md, report.tex, report.csv and report.html, prints the page's path last.

    Raises:
        UserError: no run is there, one cannot be read, or their scores were not made alike.
    """
    parser = argparse.ArgumentParser(prog="triptych report", description=__doc__)
    parser.add_argument("folder", type=Path, help="every run below it is reported")
    parser.add_argument("--out", type=Path, help="where the files go (default: the folder itself)")
    arguments = parser.parse_args(argv)
    out = arguments.out or arguments.folder

    runs = find_runs(arguments.folder)
    refuse_mixtures(runs)
    folded = tables.fold_seeds(tables.tidy(runs))
    shown = tables.columns(runs)
    cells = tables.render_cells(folded, shown)
    members = [[runs[i] for i in row] for row in folded["members"]]
    notes = tables.signatures(runs)
    title = f"Runs of {arguments.folder.resolve().name}"

    done = {label: group for label, group in zip(folded["label"], members, strict=True) if group[0].result}
    tests = _significance(done, runs)
    sections = [*_figures(done, members, folded, runs), *tests]
    _print(tables.to_rich(cells, title, notes))
    for test in tests:
        _print(tables.to_rich(test.table, test.title, test.notes))
    return 0
