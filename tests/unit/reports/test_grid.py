"""The grid of a sweep that tries every combination: its cells, its best trials, and orders that hold over it."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from made_runs import arm_overrides, change, make_arm, make_run, rows_of, scores

from triptych.reports import figures
from triptych.reports.build import report
from triptych.reports.grid import MeasuredGrid, find_grid, tabulate_best
from triptych.reports.measures import find_measure
from triptych.reports.report import Report
from triptych.reports.study_page import write_tables
from triptych.reports.table import MISSING, Table

LOSSES = {
    ("a", "0.3"): {"1e-1": 2.0, "0.001": 1.5, "1e-2": 1.8},
    ("a", "0.4"): {"1e-1": 2.1, "0.001": 1.6, "1e-2": 1.7},
    ("b", "0.3"): {"1e-1": 1.9, "0.001": 1.7, "1e-2": 2.5},
    ("b", "0.4"): {"1e-1": 2.2, "0.001": 1.9, "1e-2": 2.6},
}


def sweep(root: Path, left_out: tuple[str, str, str] | None = None) -> Report:
    for (model, dropout), losses in LOSSES.items():
        for rate, loss in losses.items():
            if (model, dropout, rate) != left_out:
                given = f"model={model},scale.dropout={dropout},scale.learning_rate={rate}-00000001"
                change(make_run(root, given, tests={}), "validation", "loss", to=loss)
    return report(root)


def lines(table: Table) -> list[list[str]]:
    return [list(line) for line in table.cells.itertuples(index=False)]


def titled(found: Report, title: str) -> Table:
    return next(table for table in found.tables if table.title.startswith(title))


def test_a_grid_has_a_cell_for_each_arm_and_bold_bests(tmp_path: Path) -> None:
    table = titled(sweep(tmp_path), "Grid")
    assert list(table.cells.columns) == [
        ("", "model"), ("", "dropout"), *(("learning_rate", rate) for rate in ("0.001", "1e-2", "1e-1"))
    ]  # fmt: skip
    assert lines(table) == [
        ["a", "0.3", "1.500", "1.800", "2.000"],
        ["a", "0.4", "1.600", "1.700", "2.100"],
        ["b", "0.3", "1.700", "2.500", "1.900"],
        ["b", "0.4", "1.900", "2.600", "2.200"],
    ]
    assert table.best == {(0, 2), (2, 2)}
    assert "Lower is better" in table.notes[0]


def test_the_best_trials_and_what_the_others_cost(tmp_path: Path) -> None:
    assert lines(titled(sweep(tmp_path), "Best trials")) == [
        ["a", "0.3", "0.001", "1.500", "+0.100", "+0.600"],
        ["b", "0.3", "0.001", "1.700", "+0.200", "+0.900"],
    ]


def test_best_trials_at_an_end_of_the_columns_are_named(tmp_path: Path) -> None:
    assert "that was tried: a, b." in titled(sweep(tmp_path), "Best trials").notes[1]
    grid = find_grid(rows_of(tmp_path))
    assert grid is not None
    highest = MeasuredGrid(grid, find_measure("bleu", "toy"), lambda row: row.runs[0].result["validation"]["loss"])
    assert "that was tried: a." in tabulate_best(highest).notes[1], "b's highest is in the middle"


def test_how_often_two_models_are_ordered_as_their_best_trials(tmp_path: Path) -> None:
    # Equal settings: b is better at 1e-1 with 0.3 alone. All pairings: trials of b above 1.5, 1.6, 1.7, 1.8, 2.0, 2.1.
    assert 6 + 6 + 5 + 5 + 3 + 3 == 28
    assert lines(titled(sweep(tmp_path), "Orders")) == [["a before b", "−0.200", "5 of 6", "28 of 36"]]


def test_the_measure_says_which_side_is_better(tmp_path: Path) -> None:
    sweep(tmp_path)
    rows = rows_of(tmp_path)
    grid = find_grid(rows)
    assert grid is not None
    bleu = {row: 10.0 * i for i, row in enumerate(rows)}
    found = MeasuredGrid(grid, find_measure("bleu", "toy"), bleu.__getitem__)
    best = found.best("a")
    assert best is not None
    assert bleu[grid.arms["a", *best]] == max(bleu[row] for row in rows if row.arm.startswith("a "))
    assert found.is_better(2.0, 1.0)


def test_no_product_of_three_is_no_grid(tmp_path: Path) -> None:
    found = sweep(tmp_path / "hole", left_out=("b", "0.4", "1e-1"))
    assert find_grid(found.rows) is None
    assert not [table for table in found.tables if table.title.startswith("Grid")]
    for model in ("a", "b"):
        for rate in (1, 2):
            make_run(tmp_path / "two", f"model={model},rate={rate}-00000001", tests={"toy": scores()})
    assert find_grid(rows_of(tmp_path / "two")) is None
    make_run(tmp_path / "words", "base-00000001")
    assert find_grid(rows_of(tmp_path / "words")) is None
    assert find_grid([]) is None


def test_an_arm_without_a_result_has_its_place(tmp_path: Path) -> None:
    for place, (arm, rate, dropout) in enumerate(product(("A1", "B1"), (1, 2), (3, 4))):
        overrides = [*arm_overrides(arm), f"scale.learning_rate={rate}", f"scale.dropout={dropout}"]
        name = f"{arm}-{rate}-{dropout}"
        is_run = (arm, rate) != ("B1", 2)
        make_arm(tmp_path, place, *overrides, run=name if is_run else None, status="finished" if is_run else "waiting")
        if is_run:
            change(make_run(tmp_path, name, overrides=overrides, tests={}), "validation", "loss", to=1.0 + place)
    found = report(tmp_path)
    assert lines(titled(found, "Grid")) == [
        ["A1", "3", "1.000", "3.000"],
        ["A1", "4", "2.000", "4.000"],
        ["B1", "3", "5.000", MISSING],
        ["B1", "4", "6.000", MISSING],
    ]
    assert titled(found, "Grid").cells.columns[0] == ("", "arm")
    assert lines(titled(found, "Orders"))[0][2:] == ["2 of 2", "8 of 8"]


def test_the_figure_has_a_line_for_each_line_of_the_grid(tmp_path: Path) -> None:
    found = sweep(tmp_path)
    title, figure = found.figures[0]
    assert title == "validation loss by learning_rate"
    assert figure.layout.xaxis.type == "log"
    assert [trace.name for trace in figure.data] == [
        "a dropout=0.3", "a dropout=0.4", "b dropout=0.3", "b dropout=0.4"
    ]  # fmt: skip
    assert list(figure.data[2].x) == [0.001, 0.01, 0.1]
    assert list(figure.data[2].y) == [1.7, 2.5, 1.9]
    assert [trace.line.color for trace in figure.data] == [*[figures.PALETTE[0]] * 2, *[figures.PALETTE[1]] * 2]
    assert [trace.line.dash for trace in figure.data] == ["solid", "dash"] * 2


@pytest.mark.parametrize("name", ["grid", "best trials", "orders"])
def test_a_studys_page_shows_its_grid(tmp_path: Path, name: str) -> None:
    home = tmp_path / "experiments" / "own" / "results" / "toy"
    made = sweep(home)
    page = home.parents[1] / "README.md"
    begin, end = f"<!-- {name} toy: written by triptych report -->", f"<!-- end of {name} toy -->"
    page.write_text(f"{begin}\n{end}\n")
    made.write()
    table = titled(made, name.capitalize())
    text = page.read_text()
    assert text.count("| ") > 4
    write_tables(home, {name: table})
    assert page.read_text() == text
