"""The table of contrastive suites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from made_runs import change, make_run, make_unfinished, rows_of

from triptych.errors import UserError
from triptych.reports.build import report
from triptych.reports.statistics.share import Share
from triptych.reports.suites import INTERVAL, suites
from triptych.reports.table import MISSING


def add(root: Path, given: str, seed: int = 1, text: str = "0123", **right: int) -> Path:
    """A finished run that has solved so many of ten items of each suite."""
    folder = make_run(root, given, seed=seed)
    scores: dict[str, Any] = {
        name: {"items": 10, "right": count, "accuracy": count / 10, "by_kind": {}, "text": text}
        for name, count in right.items()
    }
    change(folder, "suites", to=scores)
    return folder


def test_wilsons_interval() -> None:
    # (p + z²/2n ± z √(p(1 - p)/n + z²/4n²)) / (1 + z²/n) with p = 0.8, n = 10, z = 1.96: 0.71674 ± 0.22658.
    within = Share(8, 10).interval()
    assert (within.low, within.high) == pytest.approx((0.49016, 0.94332), abs=1e-4)
    assert Share(0, 10).interval().low == 0


def test_one_seed_has_an_interval_and_several_a_deviation(tmp_path: Path) -> None:
    add(tmp_path, "model=rnn-0123abcd", word_order=8, clitics=5)
    for seed, right in ((1, 6), (2, 8)):
        add(tmp_path, f"model=lm4mt,seed={seed}-0000000{seed}", seed=seed, word_order=right)
    make_unfinished(tmp_path, "model=transformer-89abcdef")
    table = suites(rows_of(tmp_path))
    assert table is not None
    cells = table.cells.droplevel(0, axis=1).set_index("arm")
    assert list(cells.columns) == ["word order", "clitics"]
    assert list(cells.loc["rnn"]) == ["80.0 [49.0, 94.3]", "50.0 [23.7, 76.3]"]
    assert list(cells.loc["lm4mt"]) == ["70.0 ± 14.1", MISSING]
    assert set(cells.loc["transformer (unfinished)"]) == {MISSING}
    assert "Chance is 50. 10 items a suite." in table.notes[0]
    assert table.notes[1] == INTERVAL


def test_reports_have_the_table_where_suites_were_scored(tmp_path: Path) -> None:
    folder = add(tmp_path, "model=rnn-0123abcd", word_order=8)
    made = report(tmp_path)
    assert "Contrastive suites" in [table.title for table in made.tables]
    assert made.table.iloc[0]["suites/word_order"] == 0.8
    change(folder, "suites", to={})
    assert "Contrastive suites" not in [table.title for table in report(tmp_path).tables]


def test_scores_of_other_items_share_no_table(tmp_path: Path) -> None:
    add(tmp_path, "model=rnn-0123abcd", word_order=8)
    add(tmp_path, "model=lm4mt-0123abce", text="4567", word_order=8)
    with pytest.raises(UserError, match=r"suites\.word_order\.text differs between runs .*data and suite_items"):
        report(tmp_path)
