"""``triptych report FOLDER``: the table of the runs below a folder, on the terminal and as four files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.measure import Measurement

from triptych.files import replacing
from triptych.report import figures, significance, tables
from triptych.report.page import Row, Section, build_page
from triptych.report.results import find_runs, refuse_mixtures, test_sets


def main(argv: list[str]) -> int:
    """Prints the table, writes report.md, report.tex, report.csv and report.html, prints the page's path last.

    Raises:
        UserError: no run is there, one cannot be read, or their scores were not made alike.
    """
    parser = argparse.ArgumentParser(
        prog="triptych report",
        description="Prints the table of the runs below a folder; writes report.md, .tex, .csv and .html.",
    )
    parser.add_argument("folder", type=Path, help="every run below it is reported")
    parser.add_argument("--out", type=Path, help="where the files go (default: the folder itself)")
    arguments = parser.parse_args(argv)
    out = arguments.out or arguments.folder

    runs = find_runs(arguments.folder)
    refuse_mixtures(runs)
    folded = tables.fold_seeds(tables.tidy(runs))
    cells = tables.render_cells(folded, tables.columns(runs))
    notes = tables.signatures(runs)
    title = f"Runs of {arguments.folder.resolve().name}"
    arms = {label: [runs[i] for i in rows] for label, rows in zip(folded["label"], folded["members"], strict=True)}
    tests = compare_arms(arms, test_sets(runs))

    shown = [(title, cells, notes), *((test.title, test.table, test.notes) for test in tests)]
    for table in shown:
        _print(*table)
    every = [*shown, *curves(arms)]
    colours = figures.colours(list(arms))
    rows = [
        Row(line, colours[label], group)
        for line, (label, group) in zip(cells.itertuples(index=False), arms.items(), strict=True)
    ]
    page = build_page(title, cells.columns, rows, notes, [*draw(arms, test_sets(runs)), *tests], out)
    _write(out / "report.md", tables.to_markdown(every))
    _write(out / "report.tex", tables.to_latex(every))
    _write(out / "report.csv", tables.to_csv(folded))
    _write(out / "report.html", page)
    print(out / "report.html")
    return 0


def draw(arms: figures.Arms, tests: Sequence[str]) -> list[Section]:
    """The figures that the runs have numbers for."""
    drawn = [(title, figures.validation(arms, metric)) for metric, (title, _) in figures.METRICS.items()]
    drawn += [(f"BLEU by source length, {test_set}", figures.bleu_by_length(arms, test_set)) for test_set in tests]
    return [Section(title, figure=figure) for title, figure in drawn if figure]


def curves(arms: figures.Arms) -> list[tuple[str, pd.DataFrame, list[str]]]:
    """What the figures of validation show, as tables for the formats that cannot draw."""
    found = [(title, tables.validation(arms, metric, form)) for metric, (title, form) in figures.METRICS.items()]
    return [(title, table, []) for title, table in found if table is not None]


def compare_arms(arms: figures.Arms, tests: Sequence[str]) -> list[Section]:
    """The significance tests that the runs have translations for, each arm by its first seed."""
    firsts = {label: group[0] for label, group in arms.items()}
    found = [(test_set, significance.compare(firsts, test_set)) for test_set in tests]
    return [
        Section(f"Significance, {test_set}", table=table, notes=[significance.note(firsts)])
        for test_set, table in found
        if table is not None
    ]


def _print(title: str, cells: pd.DataFrame, notes: Sequence[str]) -> None:
    console = Console()
    table = tables.to_rich(cells, title, notes)
    needed = Measurement.get(console, console.options.update(width=10_000), table).maximum
    if needed <= console.width:
        console.print(table)
    elif console.is_terminal:
        console.print(tables.to_rich(tables.transpose(cells), title, notes))
    else:  # a pipe or a file has no width to squeeze a table into
        Console(width=needed).print(table)


def _write(path: Path, text: str) -> None:
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")
