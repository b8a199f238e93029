"""``triptych report FOLDER…``: print the table of the runs at or below each folder, and write it as four files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from triptych.commands.printing import show_next
from triptych.config.next_step import after_report
from triptych.errors import UserError
from triptych.reports.build import build, find_folders
from triptych.reports.run_folders import first_source, trained_runs
from triptych.reports.terminal import print_table


def main(argv: list[str]) -> int:
    """Print the tables, write report.md, report.tex, report.csv and report.html, print the path of the page last.

    Raises:
        UserError: there are no runs, one cannot be read, their scores were made in different ways, or the folder of
            --keep holds something else, or --keep is given with several folders.
    """
    parser = argparse.ArgumentParser(
        prog="triptych report",
        description="Print the table of the runs at or below a folder; write report.md, .tex, .csv and .html.",
    )
    parser.add_argument("folder", type=Path, nargs="+", help="folders of runs, archives of runs, or experiments/STUDY")
    kept = "write everything that the report needs (no weights) to this folder, and report that"
    parser.add_argument("--keep", type=Path, metavar="ARCHIVE", help=kept)
    parser.add_argument("--add", action="store_true", help="with --keep: beside the runs that the archive has already")
    parser.add_argument("--all", action="store_true", help="print every table and column that report.md has")
    parser.add_argument("--methods", action="store_true", help="print a paragraph on methods for a paper, and no table")
    parser.add_argument("--unequal", action="store_true", help="allow arms that were trained on different tokens")
    arguments = parser.parse_args(argv)
    console = Console()
    if arguments.keep and len(arguments.folder) > 1:
        raise UserError("--keep writes the archive of one report; report the folders one by one.")
    if arguments.add and not arguments.keep:
        raise UserError("--add goes with --keep ARCHIVE, whose runs stay; give that too.")
    for folder, archive in [found for one in arguments.folder for found in find_folders(one, arguments.keep)]:
        report = build(folder, archive, unequal=arguments.unequal, add=arguments.add)
        if arguments.methods:
            console.print(report.methods, soft_wrap=True, markup=False, highlight=False)
        else:
            for table in report.tables if arguments.all else report.main_tables:
                print_table(table, console, whole=arguments.all)
        print(report.write(), file=sys.stderr if arguments.methods else sys.stdout)
    runs = trained_runs(report.rows)
    sentence = first_source(runs[0]) if runs else None
    show_next(after_report(arguments.folder[-1], [run.folder for run in runs], sentence, methods=arguments.methods))
    return 0
