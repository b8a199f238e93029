"""The report of a study of scaling: frontiers, power laws, where curves cross, gaps by size, and the figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from made_runs import change, make_run

from triptych.reports.build import report
from triptych.reports.report import Report
from triptych.reports.sections.scaling import scaling_of
from triptych.reports.statistics.power_law import PowerLaws

STUDY = {"name": "scaling", "reference": None, "series": "model", "varies": ["tokens"], "primary": "loss", "claims": []}
TRUE = PowerLaws(unit=1e13, floor=1.2, scales=(0.8, 0.6), exponents=(0.25, 0.4))
WIDTHS, LENGTHS = (1, 2, 5), (1, 2, 4, 8)


def add(root: Path, model: str, width: int, length: int, loss: float, seed: int = 1, **more: Any) -> None:
    given = f"model={model},scale.width={width},scale.length={length},seed={seed}-0123abcd"
    flops = 5e11 * width * length
    run = make_run(root, given, seed, tests={}, study={**STUDY, **more}, flops=flops)
    change(run, "validation", "loss", to=loss)
    change(run, "model", "parameters_non_embedding", to=100_000 * width)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Two models that follow their laws; short trainings of the largest size lie above them."""
    root = tmp_path_factory.mktemp("study") / "experiments" / "scaling" / "results" / "toy"
    for s, model in enumerate("ab"):
        for width in WIDTHS:
            for length in LENGTHS:
                loss = float(TRUE.loss(s, 5e11 * width * length)) + (0.3 if width == 5 and length < 8 else 0.0)
                for seed in (1, 2):
                    add(root, model, width, length, loss + 1e-4 * (-1) ** seed, seed)
    return report(root)


def lines(made: Report, title: str) -> dict[str, list[str]]:
    (table,) = (table for table in made.tables if table.title == title)
    return {label: cells for label, *cells in table.cells.values.tolist()}


@pytest.mark.slow
def test_the_tables_of_a_study_of_scaling(made: Report) -> None:
    assert scaling_of(made.analysis) is not None
    budgets = lines(made, "Scaling")
    assert list(budgets) == ["a", "b"]
    for name, exponent in (("a", 0.25), ("b", 0.4)):
        count, found, *losses = budgets[name]
        assert count == "6 of 12", "five arms of the smaller sizes have FLOPs of their own, and the largest one"
        low, high = (float(x) for x in found.split(" [")[1].rstrip("]").split(", "))
        assert low <= exponent <= high
        assert len(losses) == 3
    (table,) = (table for table in made.main_tables if table.title == "Scaling")
    assert table.lead == [
        "At 5.0e+11 FLOPs the lowest loss is that of a; ahead of every other. At 3.2e+12 FLOPs the lowest loss is that "
        "of b; ahead of every other. At 2.0e+13 FLOPs the lowest loss is that of b; ahead of every other."
    ]
    assert table.best == {(0, 3), (1, 4), (1, 5)}
    ((crossing, difference, exponents, ends, gap, course),) = lines(made, "Series compared").values()
    assert crossing.startswith("1.5e+12 [1.")
    assert difference.startswith("−0.1")
    assert exponents == "differ"
    first, last = (float(TRUE.loss(0, c) - TRUE.loss(1, c)) for c in (4e12, 2e13))
    shown = [float(x) for x in ends.split(" to ")]
    assert shown == pytest.approx([first, last], abs=0.02), "the longest trainings of each size"
    assert float(gap.split()[0]) == pytest.approx((last - first) / 2.32, abs=0.01), "5 is 2.32 doublings of 1"
    assert course == "widens"
    assert not any("Not converged" in note for note in made.main_tables[0].all_notes)


@pytest.mark.slow
def test_the_figure_of_a_study_of_scaling(made: Report) -> None:
    title, figure = made.figures[0]
    assert title == "Loss by training FLOPs"
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    drawn = {trace.name: trace for trace in figure.data if trace.legendgroup == "a"}
    assert set(drawn) == {"a", "a, 0.10M", "a, 0.20M", "a, 0.50M", "a, power law", "a, interval"}
    assert list(drawn["a, 0.20M"].x) == [1e12, 2e12, 4e12, 8e12]
    front = [5e11, 1e12, 2e12, 4e12, 8e12, 2e13]
    assert list(drawn["a"].x) == front
    assert list(drawn["a"].y) == pytest.approx(TRUE.loss(0, front), abs=1e-4)
    assert drawn["a, power law"].line.dash == "dash"
    assert (drawn["a, power law"].x[0], drawn["a, power law"].x[-1]) == pytest.approx((5e11, 2e13))
    colours = {name: trace.line.color for trace in figure.data if (name := trace.name) in "ab"}
    assert colours["a"] != colours["b"]
    assert title in made.page


def test_more_seeds_of_the_same_arms_narrow_no_interval(tmp_path: Path) -> None:
    """What sets an arm apart from the law is common to its seeds, so their number tells nothing of the law."""
    found = []
    for seeds in (1, 3):
        for s, model in enumerate("ab"):
            for i, width in enumerate((1, 2, 4, 8)):
                loss = float(TRUE.loss(s, 5e11 * width)) * (1 + 0.01 * (-1) ** (i * (s + 1)))
                for seed in range(seeds):
                    add(tmp_path / str(seeds), model, width, 1, loss, seed + 1)
        found.append(scaling_of(report(tmp_path / str(seeds)).analysis))
    one, three = found
    assert one is not None
    assert three is not None
    for few, many in zip(one.resampled, three.resampled, strict=True):
        assert many.exponents == pytest.approx(few.exponents, rel=1e-4)
    assert (trend := one.trend("a", "b")) is not None
    assert vars(three.trend("a", "b")) == pytest.approx(vars(trend))
    assert trend.low < trend.high


def test_tables_go_on_the_page_of_the_study(made: Report) -> None:
    mark = "<!-- {0} toy: written by triptych report -->\n<!-- end of {0} toy -->\n"
    marks = mark.format("scaling") + mark.format("series")
    page = made.folder.parents[1] / "README.md"
    page.write_text(marks)
    made.write()
    assert "| a | 6 of 12 |" in page.read_text()
    assert "| a − b | 1.5e+12" in page.read_text()


def test_a_series_with_few_arms_has_no_law(tmp_path: Path) -> None:
    for length in LENGTHS:
        add(tmp_path, "a", 1, length, float(TRUE.loss(0, 5e11 * length)))
    add(tmp_path, "b", 1, 1, 2.0)
    made = report(tmp_path)
    found = lines(made, "Scaling")
    assert found["a"][0] == "4 of 4"
    assert found["a"][2] == "2.892 [2.892, 2.892]", "1.2 + 0.8 * 20^0.25"
    assert found["b"] == ["1 of 1", *"–" * 4]
    assert lines(made, "Series compared")["a − b"] == ["–"] * 6
    notes = next(table for table in made.tables if table.title == "Scaling").all_notes
    assert "Not fitted, with fewer than 4 arms on the frontier: b." in notes


def test_scores_that_are_no_losses_have_no_law(tmp_path: Path) -> None:
    add(tmp_path, "a", 1, 1, 3.0, primary="bleu")
    assert scaling_of(report(tmp_path).analysis) is None
