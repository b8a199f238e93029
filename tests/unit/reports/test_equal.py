"""The verdicts of a study under each meaning of equal, from runs written by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from made_runs import NODE, add_arm, change, change_archived, spoilt
from scipy import stats

from triptych.commands.report import main
from triptych.errors import UserError
from triptych.reports.build import report
from triptych.reports.equal_table import CLAIMS_TITLE, TITLE
from triptych.reports.report import Report
from triptych.reports.table import Table
from triptych.runs.measured_speeds import SPEEDS_FILE

EQUAL = {**NODE, "claims": [], "varies": ["tokens"], "equal": ["parameters", "tokens", "flops", "seconds"]}
CLAIM = {"claim": "Small keys hurt", "arm": "B1", "expect": "worse"}
OTHER_CLAIM = {"claim": "Small keys hurt BLEU", "arm": "B1", "expect": "worse", "measure": "bleu"}
DEAR = [3.5, 2.4, 2.0, 1.7]
CHEAP = [4.0, 3.0, 2.5, 2.0]
INVERSE_ROOT = [0.5, 1.0, 0.82, 0.71]


def add_seeds(
    root: Path,
    arm: str,
    losses: Sequence[float],
    flops: float,
    rates: Sequence[float] = INVERSE_ROOT,
    node: dict[str, Any] = EQUAL,
    seeds: int = 3,
    scored: float | None = None,
) -> list[Path]:
    """Runs of 100 steps that were validated four times. The second seed loses 0.01 more, the third 0.01 less.

    They are scored with weights of the loss ``scored``, by default with the best checkpoint.
    """
    runs = []
    for seed, noise in zip(range(1, seeds + 1), (0.0, 0.01, -0.01), strict=False):
        place = len(list((root / "arms").glob("*"))) if (root / "arms").exists() else 0
        run = add_arm(root, place, arm, seed, node=node, lines=spoilt(0.2, seed), flops=flops)
        steps = zip((25, 50, 75, 100), losses, rates, strict=True)
        lines = [f"{step},{70_000 * step},{rate},{loss + noise}\n" for step, loss, rate in steps]
        (run / "metrics.csv").write_text("step,train/tokens,train/lr,validation/loss\n" + "".join(lines))
        change(run, "validation", "loss", to=scored + noise if scored else min(losses) + noise)
        runs.append(run)
    return runs


def write_speeds(root: Path, parameters: int = 2_000_000, **speeds: float) -> None:
    arms = {arm: {"tokens_per_second": speed, "parameters": parameters} for arm, speed in speeds.items()}
    stored = {"device": "cpu, 2 threads", "processor": "abacus", "precision": "32-true", "steps": 60, "version": "0.3"}
    (root / SPEEDS_FILE).write_text(json.dumps({**stored, "arms": arms}))


def equal_table(made: Report) -> Table:
    return next(table for table in made.tables if table.title == TITLE)


def by_pair(made: Report) -> pd.DataFrame:
    cells = equal_table(made).cells
    cells.columns = [" ".join(filter(None, column)) for column in cells.columns]
    return cells.set_index("arms")


def test_a_verdict_that_flips(tmp_path: Path) -> None:
    """Of equal tokens the dear arm makes more, of equal FLOPs less: at 1e15 it had done half of its steps."""
    add_seeds(tmp_path, "base", CHEAP, 1e15, node={**EQUAL, "claims": [CLAIM]})
    add_seeds(tmp_path, "B1", DEAR, 2e15, node={**EQUAL, "claims": [CLAIM]})
    made = report(tmp_path)
    lines = by_pair(made)
    assert list(lines.columns) == ["equal parameters, tokens", "equal FLOPs", "flips"], "no speed was measured"
    # Three seeds 0.01 apart: variance 1e-4 of 4 degrees of freedom, two differences together.
    half = stats.t.ppf(1 - 0.05 / 2 / 2, 4) * (1e-4 * 2 / 3) ** 0.5
    shown = [f"{-0.3 - half:.3f}", f"{-0.3 + half:.3f}", f"{0.4 - half:+.3f}", f"{0.4 + half:+.3f}"]
    low, high, other_low, other_high = (bound.replace("-", "−") for bound in shown)
    assert lines.loc["B1 against base"].tolist() == [
        f"better −0.300 [{low}, {high}]",
        f"worse +0.400 [{other_low}, {other_high}]",
        "yes",
    ]
    claims = next(table for table in made.main_tables if table.title == CLAIMS_TITLE)
    assert claims.cells.iloc[0].tolist() == [
        "Small keys hurt (B1 against base)",
        f"opposite −0.300 [{low}, {high}]",
        f"held +0.400 [{other_low}, {other_high}]",
        "yes",
    ]
    table = equal_table(made)
    assert table.lead == ["Verdicts that flip: B1 against base."]
    assert "Equal FLOPs: 1e+15, at which base ended." in table.notes
    assert any("all 2 differences of the table together" in note for note in table.notes)
    assert any(
        note.startswith("Nothing is compared at equal seconds: the speed of each arm was not") for note in table.notes
    )
    assert TITLE in [each.title for each in made.main_tables]


@pytest.mark.slow
def test_seconds_come_from_speeds_that_were_measured_alone(tmp_path: Path) -> None:
    """The dear arm trains at a quarter of the speed, so it has done a quarter when the cheap one ends."""
    root = tmp_path / "runs"
    add_seeds(root, "base", CHEAP, 1e15)
    add_seeds(root, "B1", DEAR, 2e15)
    write_speeds(root, base=1000.0)
    assert "equal seconds" not in by_pair(report(root)), "one arm has no speed"
    assert any("that of B1 was not measured alone" in note for note in equal_table(report(root)).notes)
    add_seeds(root, "C1", DEAR, 2e15)
    write_speeds(root, base=4000.0, B1=1000.0)
    made = report(root)
    assert by_pair(made).loc["C1 against base", "equal seconds"] == "not measured"
    assert any("steps each). But that of C1 was not measured alone." in n for n in equal_table(made).notes)
    write_speeds(root, base=4000.0, B1=1000.0, C1=1000.0)
    made = report(root)
    # 7M tokens take the cheap arm 1,750 seconds, and the dear one 7,000.
    assert by_pair(made).loc["B1 against base", "equal seconds"].startswith("worse +1.500 [")
    assert any("measured alone (cpu, 2 threads, abacus, 32-true; 60 steps each)." in n for n in equal_table(made).notes)
    archive = tmp_path / "kept"
    main([str(root), "--keep", str(archive)])
    main([str(root), "--keep", str(archive)])
    assert "equal seconds" in by_pair(report(archive)), "an archive keeps the speeds"
    change_archived(archive, "config", "strategy", to={"precision": "bf16-mixed"})
    with pytest.raises(
        UserError, match=r"speeds in precision 32-true, and .* was trained in bf16-mixed; measure it again"
    ):
        report(archive).write()
    write_speeds(root, parameters=7, base=4000.0, B1=1000.0)
    with pytest.raises(UserError, match=r"a model of 7 parameters for base, and .* has 2,000,000; measure it again"):
        report(root).write()
    (root / SPEEDS_FILE).write_text('{"arms": {}}')
    with pytest.raises(UserError, match=r"speeds\.json cannot be read .*; delete it and measure again"):
        report(root)


def test_losses_before_the_rate_has_decayed_are_not_compared(tmp_path: Path) -> None:
    for arm, losses, flops in (("base", CHEAP, 1e15), ("B1", DEAR, 2e15)):
        add_seeds(tmp_path, arm, losses, flops, rates=[1.0, 0.75, 0.25, 0.0])
    line = by_pair(report(tmp_path)).loc["B1 against base"]
    assert line["equal FLOPs"] == "rates differ"
    assert line["equal parameters, tokens"].startswith("better")
    assert line["flips"] == "no"


def test_models_of_other_sizes_are_not_compared_at_equal_parameters(tmp_path: Path) -> None:
    add_seeds(tmp_path, "base", CHEAP, 1e15)
    for run in add_seeds(tmp_path, "B1", DEAR, 1e15):
        change(run, "model", "parameters_non_embedding", to=2_500_000)
    line = by_pair(report(tmp_path)).loc["B1 against base"]
    assert line["equal parameters"] == "unequal"
    assert line["equal tokens, FLOPs"].startswith("better")


@pytest.mark.slow
def test_other_arms_stand_in(tmp_path: Path) -> None:
    other = {"claim": "Few heads hurt", "arm": "A1", "expect": "worse"}
    stand_ins = {"as published": {"B1": "B2", "A1": "A2"}}
    node = {**EQUAL, "equal": ["tokens"], "stand_ins": stand_ins, "claims": [CLAIM, other]}
    add_seeds(tmp_path, "base", CHEAP, 1e15, node=node)
    add_seeds(tmp_path, "B1", DEAR, 1e15, node=node)
    add_seeds(tmp_path, "A1", CHEAP, 1e15, node=node)
    add_seeds(tmp_path, "B2", [3.0, 2.5, 2.4, 2.3], 1e15, node=node)
    lines = by_pair(report(tmp_path))
    assert list(lines.index) == ["B1 against base", "A1 against base", "A1 against B1"]
    assert lines.loc["B1 against base", "equal tokens"].startswith("better −0.300 [")
    assert lines.loc["B1 against base", "as published"].startswith("worse +0.300 [")
    assert lines.loc["B1 against base", "flips"] == "yes"
    assert lines.loc["A1 against base", "as published"] == "not run"
    assert lines.loc["A1 against base", "equal tokens"].startswith("inconclusive +0.000 [")
    assert lines.loc["A1 against B1", "as published"] == "not run"
    assert "As published, each at its end: A2 for A1, B2 for B1." in equal_table(report(tmp_path)).notes
    (claims,) = (table for table in report(tmp_path).main_tables if table.title == CLAIMS_TITLE)
    first, second = claims.cells.to_numpy().tolist()
    assert [cell.split()[0] for cell in first[1:]] == ["opposite", "held", "yes"]
    assert [second[1].split()[0], *second[2:]] == ["inconclusive", "not run", "no"]


def test_arms_at_their_ends_are_compared_by_the_weights_that_are_scored(tmp_path: Path) -> None:
    """Averages bring the dear arm less. Where it is read before its end there are none, so single checkpoints count."""
    add_seeds(tmp_path, "base", CHEAP, 1e15, scored=1.5, node={**EQUAL, "claims": [CLAIM, OTHER_CLAIM]})
    add_seeds(tmp_path, "B1", DEAR, 2e15, scored=1.6, node={**EQUAL, "claims": [CLAIM, OTHER_CLAIM]})
    made = report(tmp_path)
    line = by_pair(made).loc["B1 against base"]
    assert line["equal parameters, tokens"].startswith("worse +0.100 [")
    assert line["equal FLOPs"].startswith("worse +0.400 [")
    (claims,) = (table for table in made.main_tables if table.title == CLAIMS_TITLE)
    assert [name for name, *_ in claims.cells.to_numpy()] == ["Small keys hurt (B1 against base)"], "by this measure"


def test_one_seed_has_no_verdict(tmp_path: Path) -> None:
    add_seeds(tmp_path, "base", CHEAP, 1e15, seeds=1)
    add_seeds(tmp_path, "B1", DEAR, 2e15, seeds=1)
    made = report(tmp_path)
    assert by_pair(made).loc["B1 against base"].tolist() == ["inconclusive −0.300", "inconclusive +0.400", "no"]
    assert equal_table(made).notes[-1] == "Every arm has one seed, so every verdict is inconclusive."


def test_one_arm_has_no_table(tmp_path: Path) -> None:
    add_seeds(tmp_path, "base", CHEAP, 1e15)
    assert TITLE not in [table.title for table in report(tmp_path).tables]


def test_the_page_of_a_study_has_the_table(tmp_path: Path) -> None:
    home = tmp_path / "experiments" / "table3" / "results" / "toy"
    add_seeds(home, "base", CHEAP, 1e15)
    add_seeds(home, "B1", DEAR, 2e15)
    page = home.parents[1] / "README.md"
    page.write_text("<!-- equal toy: written by triptych report -->\n\nold\n<!-- end of equal toy -->\n")
    report(home).write()
    assert "| B1 against base | better −0.300 " in page.read_text()
    assert "Validation loss at equal amounts" in (home / "report.html").read_text()


def test_a_study_that_names_no_meaning_has_no_table(tmp_path: Path) -> None:
    for arm in ("base", "B1"):
        add_seeds(tmp_path, arm, CHEAP, 1e15, node=NODE)
    made = report(tmp_path)
    assert TITLE not in [table.title for table in made.tables]
    assert "Validation loss at equal amounts" not in dict(made.figures)


def test_the_figure_has_a_line_and_a_band_for_each_arm(tmp_path: Path) -> None:
    add_seeds(tmp_path, "base", CHEAP, 1e15)
    add_seeds(tmp_path, "B1", DEAR, 2e15)
    figure = dict(report(tmp_path).figures)["Validation loss at equal amounts"]
    band, line = figure.data[:2]
    assert list(line.y) == pytest.approx(CHEAP)
    assert list(band.y) == pytest.approx([*(loss + 0.01 for loss in CHEAP), *(loss - 0.01 for loss in CHEAP[::-1])])
    axes = {button.label: button.args[0]["x"] for button in figure.layout.updatemenus[0].buttons}
    assert list(axes) == ["tokens", "FLOPs"]
    assert [list(axes["FLOPs"][i]) for i in (1, 3)] == [
        [0.25e15, 0.5e15, 0.75e15, 1e15],
        [0.5e15, 1e15, 1.5e15, 2e15],
    ]
    write_speeds(tmp_path, base=4000.0, B1=1000.0)
    figure = dict(report(tmp_path).figures)["Validation loss at equal amounts"]
    assert figure.layout.updatemenus[0].buttons[-1].args[0]["x"][3] == [1750, 3500, 5250, 7000]


def test_an_unknown_meaning_is_refused(tmp_path: Path) -> None:
    add_seeds(tmp_path / "a", "base", CHEAP, 1e15, node={**EQUAL, "equal": ["width"]})
    with pytest.raises(UserError, match=r"study\.equal=width is unknown; choose one of parameters, tokens, flops"):
        report(tmp_path / "a")
    add_seeds(tmp_path / "b", "base", CHEAP, 1e15, node={**EQUAL, "stand_ins": {"tokens": {}}})
    with pytest.raises(UserError, match=r"study\.stand_ins has the meaning tokens"):
        report(tmp_path / "b")
