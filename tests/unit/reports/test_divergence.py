"""Diverged runs are counted, with intervals, and claims about their shares are judged."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_runs import change, make_run, rows_of

from triptych.reports.build import report
from triptych.reports.divergence import TITLE, diverged, share_of
from triptych.reports.report import Report
from triptych.reports.statistics.share import Share
from triptych.reports.table import Table

CLAIMS = [
    {"claim": "b diverges more", "arm": "norm=b", "reference": "norm=a", "expect": "worse", "measure": "diverged"},
    {"claim": "b diverges less", "arm": "norm=b", "reference": "norm=a", "expect": "better", "measure": "diverged"},
    {"claim": "As often at 2", "arm": "rate=2", "reference": "rate=1", "expect": "equal", "measure": "diverged"},
    {"claim": "c diverges", "arm": "norm=c", "reference": "norm=a", "expect": "worse", "measure": "diverged"},
]
STUDY = {"name": "own", "reference": "norm=a warmup=0 rate=1", "claims": CLAIMS}


def train(root: Path, given: str, seed: int, last: float | None, **study: object) -> Path:
    """Make a run whose last validation loss is ``last``, or whose training ended without one; unigrams have 5 nats."""
    run = make_run(root, f"{given},seed={seed}-0000000{seed}", seed=seed, tests={}, unigram_loss=5.0, **study)
    (run / "metrics.csv").write_text(f"step,train/tokens,validation/loss\n50,10,4.0\n100,20,{last or 'inf'}\n")
    change(run, "validation", "loss", to=last)
    if last is None:
        change(run, "diverged", to=True)
        change(run, "data", "token_stream", to=f"beginning of that of {seed}")
    return run


def lines(table: Table) -> list[list[str]]:
    return [list(line) for line in table.cells.itertuples(index=False)]


def titled(found: Report, title: str) -> Table:
    return next(table for table in found.tables if table.title == title)


def test_a_run_diverged_if_it_ended_or_is_no_better_than_frequencies(tmp_path: Path) -> None:
    for seed, last in enumerate((None, 5.5, 4.5), start=1):
        train(tmp_path, "norm=a", seed, last)
    assert [diverged(run) for run in rows_of(tmp_path)[0].runs] == [True, True, False]
    old = make_run(tmp_path / "old", "norm=a-00000001")
    (old / "metrics.csv").write_text("step,train/tokens,validation/loss\n100,20,9.0\n")
    assert not diverged(rows_of(tmp_path / "old")[0].runs[0]), "it does not know the loss of frequencies"


def test_each_arm_has_its_number_and_share(tmp_path: Path) -> None:
    for seed, last in enumerate((None, 5.5, 4.5), start=1):
        train(tmp_path, "norm=a", seed, last)
        train(tmp_path, "norm=b", seed, 4.0)
    made = report(tmp_path)
    table = titled(made, TITLE)
    assert lines(table) == [["norm=a", "2 of 3", "67% [21%, 94%]"], ["norm=b", "0 of 3", "0% [0%, 56%]"]]
    assert "not below that of predicting each target piece by its frequency" in table.notes[0]
    assert lines(made.main_tables[0])[0][2] == "5.000 ± 0.707 (2 of 3)", "of the seeds that have a loss"
    assert "For a given seed, one arm saw the beginning of another's tokens." in " ".join(made.main_tables[0].notes)


def test_where_none_diverged_there_is_no_table(tmp_path: Path) -> None:
    train(tmp_path, "norm=a", 1, 4.0)
    assert not [table for table in report(tmp_path).tables if table.title == TITLE]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A grid of 8 arms and 3 seeds. With norm b all diverge but those without warm-up at rate 2."""
    for norm in "ab":
        for warmup in (0, 100):
            for rate in (1, 2):
                fails = norm == "b" and (warmup, rate) != (0, 2)
                for seed in (1, 2, 3):
                    given = f"norm={norm},warmup={warmup},rate={rate}"
                    train(tmp_path, given, seed, None if fails else 4.0, study=STUDY)
    return tmp_path


def test_a_grid_counts_over_its_columns(study: Path) -> None:
    table = titled(report(study), TITLE)
    assert list(table.cells.columns.get_level_values(1)) == ["norm", "rate", "0", "100", "diverged", "share"]
    assert [line[:5] for line in lines(table)] == [
        ["a", "1", "0 of 3", "0 of 3", "0 of 6"],
        ["a", "2", "0 of 3", "0 of 3", "0 of 6"],
        ["b", "1", "3 of 3", "3 of 3", "6 of 6"],
        ["b", "2", "0 of 3", "3 of 3", "3 of 6"],
    ]


def test_claims_about_shares_are_judged_over_all_arms_that_they_name(study: Path) -> None:
    made = report(study)
    assert share_of(made.rows, "norm=b") == Share(9, 12)
    assert share_of(made.rows, "norm=b rate=2") == Share(3, 6)
    verdicts = titled(made, "Verdicts")
    found = {line[0]: line[1:] for line in lines(verdicts)}
    assert [line[0] for line in found.values()] == [
        "held", "opposite", "inconclusive: 12 and 12 runs", "not run"
    ]  # fmt: skip
    bounds = Share(9, 12).minus(Share(0, 12), 0.05 / 4)
    assert found["b diverges more (norm=b against norm=a)"][1] == (
        f"+75 [{100 * bounds.low:+.0f}, {100 * bounds.high:+.0f}]".replace("-", "−")
    )
    assert verdicts.lead == ["The verdicts are by share of diverged runs (% of runs)."]
