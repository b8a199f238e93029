"""The report of a sweep: a row for every arm, the published figures beside it, the best in bold, and every link."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest
from made_runs import (
    NODE,
    Resources,
    add_arm,
    arm_overrides,
    arm_run,
    change,
    folder_of,
    make_arm,
    make_run,
    make_unfinished,
    rows_of,
    scores,
    spoilt,
)
from rich.console import Console

from triptych.commands.report import main
from triptych.errors import UserError
from triptych.reports import published, setup, study
from triptych.reports.build import report
from triptych.reports.labels import label_arms
from triptych.reports.table import MISSING
from triptych.reports.terminal import print_table
from triptych.sweeps.arms import Arm, read_arms

PUBLISHED = """\
arm,"BLEU (tokenised, newstest2013)",parameters (M),source,set_up
base,25.8,65,"Vaswani et al. 2017, table 3",WMT'14 en-de; 100K steps
A1,24.9,,"Vaswani et al. 2017, table 3",WMT'14 en-de; 100K steps
A2,25.5,,"Vaswani et al. 2017, table 3",WMT'14 en-de; 100K steps
B1,25.1,58,"Vaswani et al. 2017, table 3",WMT'14 en-de; 100K steps
big,26.4,213,"Vaswani et al. 2017, table 3",WMT'14 en-de; 300K steps
"""


@pytest.fixture
def experiments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of studies; one has published figures."""
    folder = tmp_path / "experiments"
    (folder / "table3").mkdir(parents=True)
    (folder / "table3" / "published.csv").write_text(PUBLISHED)
    monkeypatch.setattr(published, "EXPERIMENTS", folder)
    return folder


@pytest.fixture
def sweep(tmp_path: Path, experiments: Path) -> Path:
    """Four arms: two finished, one failed, one that waits. Only the reference is any good."""
    root = tmp_path / "sweep"
    add_arm(root, 1, "base", lines=spoilt(0.05))
    make_arm(root, 3, *arm_overrides("A1"), status="failed", reason="model.num_heads=3 | 192 must be divisible.")
    make_arm(root, 2, *arm_overrides("A2"), status="waiting")
    add_arm(root, 4, "B1", lines=spoilt(0.4))
    return root


def cells(text: str, title: str = "") -> dict[str, list[str]]:
    """The lines of the first table of a Markdown report, or of the table with a title, by their labels."""
    table = text.partition(f"## {title}")[2].partition("\n## ")[0]
    lines = [re.split(r" (?<!\\)\| ", line[2:-2]) for line in table.splitlines() if line.startswith("| ")]
    return {line[0]: line[1:] for line in lines}


def test_arms_are_read_in_their_order(tmp_path: Path) -> None:
    assert read_arms(tmp_path) == []
    make_arm(tmp_path, 2, "model=b", run="b", status="failed", reason="no", study=None)
    make_arm(tmp_path, 1, "model=a", "seed=1", status="waiting")
    assert read_arms(tmp_path) == [
        Arm("table3", 1, ("model=a", "seed=1")),
        Arm(None, 2, ("model=b",), run="b", status="failed", reason="no"),
    ]
    for broken in ("{", "[]", '{"study": null}', '{"overrides": [], "other": 1}'):
        (tmp_path / "arms" / "000-00000000.json").write_text(broken)
        with pytest.raises(UserError, match=r"arms/000-00000000\.json cannot be read .*run the sweep again"):
            read_arms(tmp_path)


def test_every_arm_has_a_row_with_its_published_figures(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(sweep)])
    markdown = (sweep / "report.md").read_text()
    lines = cells(markdown)
    assert list(lines)[2:] == ["base", "A2 (not run)", "A1 (failed)", "B1"]
    assert [line[-1] for line in lines.values()][2:] == ["", "−0.3", "−0.9", "−0.7"]
    assert lines["A1 (failed)"] == [MISSING] * 4 + ["−0.9"]
    lines = cells(markdown, "Published figures")
    assert lines["arm"] == ["BLEU (tokenised, newstest2013)", "parameters (M)"]
    assert lines["base"] == ["25.8", "65"]
    assert lines["big"] == ["26.4", "213"]
    latex = (sweep / "report.tex").read_text()
    assert "A1 failed: model.num\\_heads=3 \\textbar{} 192 must be divisible." in latex
    page = " ".join(Resources((sweep / "report.html").read_text()).words)
    for text in (capsys.readouterr().out, markdown, latex, page):
        for wanted in (
            "A1 (failed)",
            "A2 (not run)",
            "Published Δ, in another set-up than ours: from base, in BLEU (tokenised, newstest2013)",
        ):
            assert wanted.replace("Δ", r"$\Delta$" if text is latex else "Δ") in " ".join(text.split())
    for text in (markdown, page):
        for wanted in (
            "Published (base, A1, A2, B1): Vaswani et al. 2017, table 3; WMT'14 en-de; 100K steps.",
            "Published (big): Vaswani et al. 2017, table 3; WMT'14 en-de; 300K steps.",
            "3 + 3 layers of 192.",
        ):
            assert wanted in text
    frame = pd.read_csv(sweep / "report.csv").set_index("label")
    assert frame.loc["big", "published/BLEU (tokenised, newstest2013)"] == 26.4
    assert frame.loc["B1", "runs"] == arm_run("B1")
    assert list(frame["seeds"]) == [1, 0, 0, 1, 0]


def test_arms_are_compared_with_the_reference_and_kept_where_they_cannot_be(sweep: Path) -> None:
    main([str(sweep)])
    part = (sweep / "report.md").read_text()
    lines = cells(part, "Differences, BLEU, toy")
    assert [label.split(" ")[0] for label in lines][2:] == ["base", "A2", "A1", "B1"]
    assert lines["A2 (not run)"] == [MISSING] * 4
    assert lines["base"][1:] == ["", "", "1"]
    assert lines["B1"][1].startswith("−")
    assert "Against base, the reference" in part


def test_the_best_is_bold_where_it_is_ahead_of_all(sweep: Path) -> None:
    for place, (arm, share) in enumerate((("base", 0.05), ("B1", 0.4)), start=5):
        add_arm(sweep, place, arm, seed=2, lines=spoilt(share))
    main([str(sweep)])
    bleu = f"{rows_of(sweep)[0].bleu('toy'):.2f} ± 0.00"
    assert f"| **{bleu}** |" in (sweep / "report.md").read_text()
    latex = bleu.replace("±", r"$\pm$")
    assert f"\\textbf{{{latex}}}" in (sweep / "report.tex").read_text()
    assert Resources((sweep / "report.html").read_text()).bold == [bleu]
    assert "Bold: best of its column" in (sweep / "report.md").read_text()
    console = Console(width=400, force_terminal=True, color_system="standard")
    with console.capture() as captured:
        print_table(report(sweep).main_tables[0], console)
    assert re.search(rf"\x1b\[1m *{bleu} *\x1b\[0m", captured.get())


def test_none_is_bold_where_arms_have_one_seed(sweep: Path) -> None:
    main([str(sweep)])
    text = (sweep / "report.md").read_text()
    assert "**" not in text
    assert "Bold" not in text


def test_seeds_share_a_row_which_says_what_is_missing_of_them(tmp_path: Path, experiments: Path) -> None:
    root = tmp_path / "sweep"
    for place, seed in enumerate((2, 1)):
        add_arm(root, place, "base", seed=seed, tests={"toy": scores(30.0 + seed)})
    make_arm(root, 2, *arm_overrides("base", 3), status="failed", reason="out of memory")
    for place, seed in ((3, 1), (4, 2)):
        make_arm(root, place, *arm_overrides("A1", seed), status="waiting")
    make_arm(root, 5, *arm_overrides("A2", 1), run="gone")
    make_arm(root, 6, *arm_overrides("A3", 1), run="left", status="running")
    make_unfinished(root, "left")
    make_run(root, "model=other-0000000a")
    found = rows_of(root)
    assert [row.label for row in found] == [
        "base (seed=3 failed)", "A1 (not run)", "A2 (its run is not here)", "A3 (unfinished)", "other"
    ]  # fmt: skip
    assert [run.seed for run in found[0].runs] == [1, 2]
    assert [row.arm for row in found] == ["base", "A1", "A2", "A3", "other"]
    table = report(root).main_tables[0]
    assert table.cells.iloc[0, 0] == "base (seed=3 failed) (2 seeds)"
    assert setup.failures(found) == ["base seed=3 failed: out of memory"]
    assert table.cells.droplevel(0, axis=1).loc[0, "BLEU"] == "31.50 ± 0.71"


def test_a_part_of_a_study_is_called_as_in_the_whole(tmp_path: Path, experiments: Path) -> None:
    root = tmp_path / "sweep"
    for seed in (1, 2):
        add_arm(root, seed, "base", seed=seed, tests={"toy": scores()})
    (row,) = rows_of(root)
    assert row.arm == row.label == "base"
    main([str(root)])
    assert cells((root / "report.md").read_text(), "Published figures")["base"] == ["25.8", "65"]
    given = [
        ["model=a", "scale=toy", "loss.beta=1", "loss.alpha=0"],
        ["model=a", "scale=toy", "loss.beta=1", "loss.alpha=1"],
    ]
    assert label_arms(given, "loss.alpha=0 loss.beta=1") == ["loss.alpha=0 loss.beta=1", "loss.alpha=1 loss.beta=1"]
    assert label_arms(given[:1], "b") == ["a"]
    assert label_arms([["model=a", "arm=x"], ["model=a", "arm=y"]], "x") == ["x", "y"]


def add_trained(root: Path, place: int, arm: str, seed: int, strategy: str, precision: str) -> None:
    """Add an arm that was trained by an override of ``strategy``, which set a precision."""
    run, overrides = f"{arm}-{place:08}", [*arm_overrides(arm, seed), strategy]
    make_arm(root, place, *overrides, run=run)
    folder = make_run(root, run, seed=seed, study=NODE, overrides=overrides, device=strategy)
    with (folder / "config.yaml").open("a") as config:
        config.write(f"strategy: {{accelerator: {strategy}, precision: {precision}}}\n")


@pytest.mark.parametrize(
    ("gpu", "rows"),
    [
        ("16-mixed", {"base": [1, 2], "A1": [1]}),
        ("32-true", {"base strategy=single_gpu": [1], "base precision=16-mixed": [2], "A1 precision=16-mixed": [1]}),
    ],
)
def test_devices_tell_no_arms_apart_unless_they_compute_otherwise(
    tmp_path: Path, experiments: Path, gpu: str, rows: dict[str, list[int]]
) -> None:
    root = tmp_path / "sweep"
    add_trained(root, 0, "base", 1, "strategy=single_gpu", gpu)
    add_trained(root, 1, "base", 2, "strategy.precision=16-mixed", "16-mixed")
    add_trained(root, 2, "A1", 1, "strategy.precision=16-mixed", "16-mixed")
    assert {row.label: [run.seed for run in row.runs] for row in rows_of(root)} == rows
    make_arm(root, 3, *arm_overrides("A2"), "strategy.precision=16-mixed", status="waiting")
    assert [row.label for row in rows_of(root)] == [*rows, f"{next(reversed(rows)).replace('A1', 'A2')} (not run)"]
    make_arm(root, 4, *arm_overrides("A3"), "strategy.precision=64-true", status="waiting")
    assert rows_of(root)[-1].label == "A3 precision=64-true (not run)"


def test_bleu_by_length_is_a_table(tmp_path: Path) -> None:
    def parts(*bleu: float | None) -> list[dict[str, object]]:
        ranges = [("1-9", 1, 12), ("10-19", 10, 8), ("20+", 20, 1)]
        return [
            {"label": label, "low": low, "sentences": count, "bleu": score}
            for (label, low, count), score in zip(ranges, bleu, strict=True)
        ]

    for seed, bleu in ((1, 20.0), (2, 30.0)):
        add_arm(tmp_path, seed, "base", seed=seed, tests={"toy": scores(by_length=parts(bleu, 10.0, None))})
    add_arm(tmp_path, 3, "A1", tests={"toy": scores(by_length=parts(40.0, 5.0, None))})
    main([str(tmp_path)])
    lines = cells((tmp_path / "report.md").read_text(), "BLEU by source length, toy")
    assert lines["words"] == ["1-9", "10-19"]
    assert lines["base"] == ["25.00", "10.00"]
    assert lines["A1"] == ["40.00", "5.00"]
    assert lines["sentences"] == ["12", "8"]


def test_the_same_text_in_another_place_is_another_seed_of_one_config(tmp_path: Path) -> None:
    for seed, place in ((1, "/here"), (2, "/there")):
        path = make_run(tmp_path, f"model=rnn,seed={seed}-0000000{seed}", seed=seed) / "config.yaml"
        path.write_text(path.read_text().replace("data:\n", f"data:\n  dir: {place}\n  cache: {place}\n"))
    (row,) = rows_of(tmp_path)
    assert [run.seed for run in row.runs] == [1, 2]


def test_notes_are_no_markup(sweep: Path) -> None:
    make_arm(sweep, 7, *arm_overrides("C1"), status="failed", reason="expected <class 'int'>, not [*]")
    main([str(sweep)])
    assert r"- C1 failed: expected &lt;class 'int'&gt;, not \[\*\]" in (sweep / "report.md").read_text()


def test_weights_and_code_of_others_are_noted(sweep: Path) -> None:
    runs = [folder_of(rows_of(sweep)[place].runs[0]) for place in (0, 3)]
    main([str(sweep)])
    assert "weights of another" not in (sweep / "report.md").read_text()
    change(runs[1], "weights_of", to=runs[0].name)
    for run, source in zip(runs, ("0123", "4567"), strict=True):
        change(run, "versions", to={"sacrebleu": "2.6.0", "source": source})
    main([str(sweep)])
    text = (sweep / "report.md").read_text()
    assert "1 of 2 runs have the weights of another" in text
    assert "The runs are of 2 versions of the code" in text


def test_a_run_serves_every_arm_that_comes_to_it(tmp_path: Path, experiments: Path) -> None:
    root = tmp_path / "sweep"
    run = add_arm(root, 0, "base", lines=spoilt(0.1))
    make_arm(root, 1, *arm_overrides("A2"), run=run.name)
    first, second = rows_of(root)
    assert (first.label, second.label) == ("base", "A2")
    assert first.runs == second.runs
    main([str(root)])
    assert "1 run, 2 rows" in (root / "report.html").read_text()


def test_labels_are_the_overrides_that_differ(tmp_path: Path) -> None:
    for place, beam in enumerate((1, 2)):
        make_arm(tmp_path, place, "experiment=beam", f"search.beam_size={beam}", "output=/x", status="waiting")
    assert [row.arm for row in rows_of(tmp_path)] == ["search.beam_size=1", "search.beam_size=2"]
    make_arm(tmp_path, 2, "experiment=beam", "model=rnn", "data.dir=/there/is/text", status="waiting")
    assert rows_of(tmp_path)[2].arm == "rnn data.dir=text"


def test_a_sweep_without_runs_makes_a_report(tmp_path: Path, experiments: Path) -> None:
    root = tmp_path / "sweep"
    make_arm(root, 0, *arm_overrides("base"), status="failed", reason="no")
    make_arm(root, 1, *arm_overrides("A1"), status="waiting")
    assert main([str(root)]) == 0
    assert "base (failed)" in (root / "report.html").read_text()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("arm,", "row,", "has no column arm; it needs arm, source, set_up"),
        ("A1,", "base,", r"row 3 of .*published\.csv \(base\) must have an arm of its own"),
        ("A2,25.5,", "A2,25.5,,", r"row 4 .*no more cells than the 5 columns"),
        ('58,"Vaswani et al. 2017, table 3"', "58,", r"row 5 .*a source"),
        ("big,", ",", r"row 6 .*\(no arm\)"),
    ],
)
def test_mistakes_in_published_figures_are_named(
    sweep: Path, experiments: Path, old: str, new: str, words: str
) -> None:
    path = experiments / "table3" / "published.csv"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(UserError, match=words):
        main([str(sweep)])


def test_whatever_is_published_is_text(sweep: Path, experiments: Path) -> None:
    sign = r"50% of a_b & {c} #1 $x \y ~z^2 | <b> [i] *j*"
    with (experiments / "table3" / "published.csv").open("a", newline="") as file:
        csv.writer(file).writerow([f"other {sign}", sign, "1", "Someone, somewhere.", sign])
    main([str(sweep)])
    line = next(line for line in (sweep / "report.md").read_text().splitlines() if line.startswith("| other"))
    assert len(re.findall(r"(?<!\\)\|", line)) == 4
    assert r"&lt;b&gt; \[i\] \*j\*" in line
    page = Resources((sweep / "report.html").read_text())
    assert sign in page.words


def test_every_run_is_linked(sweep: Path) -> None:
    add_arm(sweep, 5, "B1", seed=2, lines=spoilt(0.4, 2))
    main([str(sweep)])
    base, first, second = rows_of(sweep)[0].runs + rows_of(sweep)[3].runs
    links = [run.link(sweep) for run in (base, first, second)]
    assert links == ["base-00000001/", "B1-00000001/", "B1-00000002/"]
    page = Resources((sweep / "report.html").read_text())
    assert set(page.links) == set(links)
    runs = (sweep / "report.md").read_text().partition("## Runs")[2]
    for run, link in zip((base, first, second), links, strict=True):
        assert f"| [{run.name}]({link}) |" in runs
        assert (run.name, link) in page.linked
        assert (sweep / unquote(link)).is_dir()
    assert pd.read_csv(sweep / "report.csv")["runs"][3] == f"{first.name}; {second.name}"
    for path in sweep.glob("report.*"):
        assert str(sweep.parent) not in path.read_text()


def test_nothing_is_kept_of_what_is_refused(sweep: Path) -> None:
    change(folder_of(rows_of(sweep)[0].runs[0]), "data", "token_stream", to="another stream")
    with pytest.raises(UserError, match="not trained on the same tokens"):
        main([str(sweep), "--keep", str(sweep.parent / "kept")])
    assert not (sweep.parent / "kept").exists()


def test_a_study_is_reported_from_its_results(experiments: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for scale in ("toy", "smoke"):
        root = experiments / "table3" / "results" / scale
        make_run(root, "base")
        make_run(root, "A1")
    main([str(experiments / "table3")])
    printed = capsys.readouterr().out
    homes = [experiments / "table3" / "results" / scale for scale in ("smoke", "toy")]
    assert [line for line in printed.splitlines() if line.endswith("report.html")] == [
        str(home / "report.html") for home in homes
    ]
    for home in homes:
        assert f"table3, {home.name}" in printed
        assert list(cells((home / "report.md").read_text()))[2:] == ["A1", "base"]
        lines = cells((home / "report.md").read_text(), "Published figures")
        assert list(lines)[2:] == ["base", "A1", "A2", "B1", "big"]
    main([str(experiments / "table3"), "--keep", str(experiments.parent / "kept")])
    assert (experiments.parent / "kept" / "toy" / "report.html").exists()


def test_an_unknown_study_names_the_known(experiments: Path) -> None:
    (experiments / "norm").mkdir()
    with pytest.raises(UserError, match=r"there is no study .*experiments/tabel3; there are norm, table3\."):
        main([str(experiments / "tabel3")])
    with pytest.raises(UserError, match=r"no runs below .*experiments/norm"):
        main([str(experiments / "norm")])


def test_the_published_figures_of_the_checkout_can_be_read() -> None:
    for path in published.EXPERIMENTS.glob("*/published.csv"):
        found = published.read_published(path.parent, study.Study(path.parent.name, None, frozenset(), ()))
        assert found.header
        assert found.cells
