"""The line of a measure over the doses of a study, and claims about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_runs import change, make_run, rows_of
from scipy import stats

from triptych.reports.build import report
from triptych.reports.report import Report
from triptych.reports.table import Table

CLAIMS = [
    {"claim": "More hurts", "arm": "mean of λ", "reference": "a", "expect": "worse"},
    {"claim": "More helps", "arm": "mean of λ", "reference": "a", "expect": "better"},
    {"claim": "b hurts", "arm": "b", "reference": "a", "expect": "worse"},
]
DOSE = {"name": "mean of λ", "mean_of": ["loss.alpha", "loss.beta"]}
ARMS = {"a": (0.0, 0.1), "b": (0.1, 0.5), "c": (0.3, 0.1), "d": (0.3, 0.5)}


def train(root: Path, arm: str, loss: float, seed: int = 1) -> None:
    """Make a run of an arm with this validation loss."""
    study = {"name": "own", "reference": "a", "primary": "loss", "dose": DOSE, "claims": CLAIMS}
    alpha, beta = ARMS[arm]
    given = f"arm={arm}" + (f",seed={seed}" if seed > 1 else "")
    run = make_run(root, f"{given}-{ord(arm):07d}{seed}", seed=seed, tests={}, study=study)
    config = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(f"{config}\nloss: {{alpha: {alpha}, beta: {beta}}}\n")
    change(run, "validation", "loss", to=loss)


def titled(found: Report, title: str) -> Table:
    return next(table for table in found.tables if table.title == title)


def test_the_line_is_that_of_scipy(tmp_path: Path) -> None:
    losses = {"a": 1.0, "b": 1.12, "c": 1.1, "d": 1.17}
    for arm, loss in losses.items():
        train(tmp_path, arm, loss)
    made = report(tmp_path)
    doses = [sum(ARMS[arm]) / 2 for arm in losses]
    line = stats.linregress(doses, list(losses.values()))
    half = stats.t.ppf(0.975, 2) * line.stderr
    low, middle, high = (0.35 * (line.slope + sign * half) for sign in (-1, 0, 1))
    shown = f"+{middle:.3f} [+{low:.3f}, +{high:.3f}]"
    ends = [f"{line.intercept + line.slope * dose:.3f}" for dose in (0.05, 0.4)]
    table = titled(made, "Dose")
    assert list(table.cells.iloc[0]) == ["validation loss (nats a token)", "4", *ends, shown]
    assert table.lead == ["The dose is the mean of λ, from 0.05 to 0.4."]
    verdicts = titled(made, "Verdicts").cells
    assert list(verdicts.iloc[0])[:3] == ["More hurts (mean of λ 0.4 against 0.05, by a line)", "held", shown]
    assert list(verdicts.iloc[:, 1]) == ["held", "opposite", "inconclusive: one seed"]
    assert "validation loss by mean of λ" in [title for title, _ in made.figures]


def test_seeds_are_averaged_and_departures_from_the_line_widen_the_interval(tmp_path: Path) -> None:
    for seed, shift in ((1, -0.3), (2, 0.3)):
        for arm, loss in {"a": 1.0, "b": 1.6, "c": 1.0, "d": 1.1}.items():
            train(tmp_path, arm, loss + shift, seed)
    assert len(rows_of(tmp_path)) == 4
    made = report(tmp_path)
    (figure,) = [figure for title, figure in made.figures if title == "validation loss by mean of λ"]
    assert sorted(zip(figure.data[0].x, figure.data[0].y, strict=True)) == [
        *((0.05, pytest.approx(1.0)), (0.2, pytest.approx(1.0)), (0.3, pytest.approx(1.6)), (0.4, pytest.approx(1.1))),
    ]
    assert titled(made, "Verdicts").cells.iloc[0, 1] == "inconclusive: a line through 4 arms"


def test_two_arms_make_no_line(tmp_path: Path) -> None:
    train(tmp_path, "a", 1.0)
    train(tmp_path, "b", 2.0)
    made = report(tmp_path)
    assert "Dose" not in [table.title for table in made.tables]
    assert titled(made, "Verdicts").cells.iloc[0, 1] == "not run"
