"""``triptych report FOLDER``: the table of the runs below a folder, on the terminal and as four files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import plotly.graph_objects as go
from rich.console import Console
from rich.measure import Measurement

from triptych.errors import UserError
from triptych.files import replacing
from triptych.reports import figures, formats, latex, significance, tables
from triptych.reports.archive import keep
from triptych.reports.comparability import refuse_mixtures, refuse_tampered, refuse_unequal_tokens
from triptych.reports.page import build_page
from triptych.reports.rows import Row, read_rows, runs_of
from triptych.reports.stored_runs import find_runs, test_sets
from triptych.reports.study import Published, Study, find_study, read_published, subfolders
from triptych.reports.tables import Table
from triptych.sweeps.arms import LEFT_OUT, read_arms


def main(argv: list[str]) -> int:
    """Prints the tables, writes report.md, report.tex, report.csv and report.html, prints the page's path last.

    Raises:
        UserError: no run is there, one cannot be read, their scores were not made alike, or --keep's folder
            holds something else.
    """
    parser = argparse.ArgumentParser(
        prog="triptych report",
        description="Prints the table of the runs below a folder; writes report.md, .tex, .csv and .html.",
    )
    parser.add_argument("folder", type=Path, help="every run below it is reported; or experiments/STUDY")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="copy what the report is made of, no weights, there; report that"
    )
    parser.add_argument("--unequal", action="store_true", help="also where arms were trained on other tokens")
    arguments = parser.parse_args(argv)
    for folder, kept in places(arguments.folder, arguments.keep):
        gathered = gather(folder, arguments.unequal)
        if kept:
            keep(folder, kept)
            gathered = gather(kept, arguments.unequal)
        report(kept or folder, gathered)
    return 0


def places(folder: Path, kept: Path | None) -> list[tuple[Path, Path | None]]:
    """The folders to report, and where each is kept: of a study those of its ``results``, or the folder alone.

    Raises:
        UserError: there is no such study.
    """
    experiments = folder.absolute().parent
    if experiments.name == "experiments" and experiments.is_dir() and not folder.exists():
        raise UserError(f"there is no study {folder}; there are {', '.join(subfolders(experiments)) or 'none'}.")
    results = folder / "results"
    if experiments.name == "experiments" and results.is_dir() and (names := subfolders(results)):
        return [(results / name, kept and kept / name) for name in names]
    return [(folder, kept)]


@dataclass(frozen=True)
class Gathered:
    """What the report of a folder is made of.

    Attributes:
        rows: its arms.
        study: that they belong to.
        published: its figures.
        missing: arms that have no row, a sentence each.
    """

    rows: list[Row]
    study: Study
    published: Published
    missing: list[str]


def gather(folder: Path, unequal: bool) -> Gathered:
    """Reads a folder, and refuses what may not stand in one table.

    Raises:
        UserError: as ``main``.
    """
    significance.random_seed()
    arms = read_arms(folder)
    runs = find_runs(folder)
    study = find_study(folder, arms, runs)
    shown = [arm for arm in arms if arm.status != LEFT_OUT]
    rows = read_rows(folder, shown, runs, study.reference)
    published = read_published(folder, study)
    refuse_mixtures(runs, study.varies)
    if not unequal and "tokens" not in study.varies:
        refuse_unequal_tokens(rows)
    refuse_tampered(runs)
    missing = [
        f"{' '.join(arm.overrides)} failed before it began, and a later sweep left it out: {arm.reason}"
        for arm in arms
        if arm.status == LEFT_OUT
    ]
    if below := sorted({path.parent.parent.relative_to(folder).as_posix() for path in folder.glob("*/**/arms/*.json")}):
        missing.append(
            f"Sweeps lie below this folder ({', '.join(below)}); arms of theirs that have no run are not shown."
        )
    return Gathered(rows, study, published, missing)


def report(folder: Path, gathered: Gathered) -> None:
    """Prints the report of a folder, and writes it there."""
    rows, study, published = gathered.rows, gathered.study, gathered.published
    runs = runs_of(rows)
    tests = [significance.PairedTests(rows, test_set) for test_set in test_sets(runs)]
    leaders = {test.test_set: test.leader() for test in tests}
    name = folder.resolve().name
    title = f"Runs of {name}" if study.name in (None, name) else f"Runs of {study.name}, {name}"
    notes = [
        *tables.failures(rows),
        *gathered.missing,
        *tables.made(runs),
        *tables.seeds(rows),
        *significance.notes(leaders),
        *tables.provenance(study, published),
    ]
    table = tables.comparison(title, rows, published, leaders, notes)
    tested = [found for test in tests if (found := significance.compare(test, rows, study.reference))]
    for one in (table, *tested):
        _print(one)
    curves = [tables.validation(rows, metric, *how) for metric, how in figures.METRICS.items()]
    lengths = [tables.bleu_by_length(rows, test_set) for test_set in test_sets(runs)]
    every = [table, *tested, *filter(None, lengths), *filter(None, curves)]
    page = build_page(table, draw(rows, test_sets(runs)), tested, figures.colours(rows), folder)
    _write(folder / "report.md", formats.to_markdown(every, folder))
    _write(folder / "report.tex", latex.to_latex([tables.narrow(table), *every[1:]]))
    _write(folder / "report.csv", formats.to_csv(rows, published))
    _write(folder / "report.html", page)
    print(folder / "report.html")


def draw(rows: Sequence[Row], test_names: Sequence[str]) -> list[tuple[str, go.Figure]]:
    """The figures that the runs have numbers for, with their titles."""
    drawn = [(title, figures.validation(rows, metric)) for metric, (title, _) in figures.METRICS.items()]
    for name in test_names:
        drawn.append((f"BLEU by parameters, {name}", figures.bleu_by_parameters(rows, name)))
        drawn.append((f"BLEU by source length, {name}", figures.bleu_by_length(rows, name)))
    return [(title, figure) for title, figure in drawn if figure]


def _print(table: Table) -> None:
    console = Console()
    shown = formats.to_rich(table)
    needed = Measurement.get(console, console.options.update(width=10_000), shown).maximum
    if needed <= console.width:
        console.print(shown)
    elif console.is_terminal:
        console.print(formats.to_rich(formats.transposed(table)))
    else:  # a pipe or a file has no width to squeeze a table into
        Console(width=needed).print(shown)


def _write(path: Path, text: str) -> None:
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")
