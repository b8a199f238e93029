"""The report of runs: what it shows and folds, in each of its formats."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from made_runs import Resources, change, make_run, make_unfinished, rows_of, scores, unpacked

from triptych.commands.report import main
from triptych.errors import UserError
from triptych.reports import details, figures, latex
from triptych.reports.arm_rows import ArmRow, runs_of
from triptych.reports.build import report
from triptych.reports.comparability import refuse_mixtures
from triptych.reports.table import MISSING, Table


def summary(root: Path) -> Table:
    return report(root).main_tables[0]


def rendered(root: Path, title: str = "") -> pd.DataFrame:
    """The cells of the first table, or of the table with a title."""
    table = next(table for table in report(root).tables if table.title == title or not title)
    return table.cells.droplevel(0, axis=1)


def test_a_page_breaks_names_between_words_and_keeps_them_text(tmp_path: Path) -> None:
    make_run(tmp_path, "model=rnn,attention=a_b<i>&-0123abcd")
    main([str(tmp_path)])
    assert "rnn attention<wbr>=a_<wbr>b&lt;i&gt;&amp;</span>" in (tmp_path / "report.html").read_text()


def test_a_run_in_each_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path, "model=rnn,attention=bahdanau-0123abcd")
    assert main([str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == str(tmp_path / "report.html")
    markdown = (tmp_path / "report.md").read_text()
    for line in (
        "| rnn attention=bahdanau | 2.00 | 1.500 | 30.00 |",
        "| rnn attention=bahdanau | 2.00 | 1.50 | 3.00 | 4.00 | 5.25e+15 | 90.0 | 1,000 |",
        "| rnn attention=bahdanau | 30.00 | 55.50 | 41.25 |",
        "[model_rnn-attention_bahdanau-0123abcd](model_rnn-attention_bahdanau-0123abcd/)",
    ):
        assert line in markdown
    assert "sentence BLEU over pieces" in markdown
    assert "6ND" not in markdown, "an estimate for published figures alone"
    page = " ".join(Resources((tmp_path / "report.html").read_text()).words)
    shown = ("rnn attention=bahdanau", "2.00", "30.00", "beam 4, length penalty 0.6")
    below = ("41.25", "55.50", "tok:13a", "nc:6")
    latex = (tmp_path / "report.tex").read_text()
    for text in (printed, latex):
        assert all(wanted in text for wanted in shown)
        assert not any(wanted in text for wanted in below)
    for text in (markdown, page):
        assert all(wanted in text for wanted in (*shown, *below))
    row = pd.read_csv(tmp_path / "report.csv").iloc[0]
    assert row["parameters"] == 2_000_000
    assert row["toy/sentence_bleu_pieces"] == 41.25
    assert row["runs"] == "model_rnn-attention_bahdanau-0123abcd"
    assert "25.0% of 2 TFLOP/s" in page
    assert "data-print" in page


def test_seeds_fold_into_mean_and_sample_deviation(tmp_path: Path) -> None:
    for seed, bleu, seconds in ((1, 30.0, 100.0), (2, 31.0, 120.0), (3, 35.0, 140.0)):
        make_run(
            tmp_path, f"model=rnn,seed={seed}-0123abc{seed}", seed=seed, tests={"toy": scores(bleu)}, seconds=seconds
        )
    row = rendered(tmp_path).iloc[0]
    # Mean 96 / 3; deviations -2, -1, 3 squared are 14, over n - 1 = 2, whose root is 2.6458.
    assert row["arm"] == "rnn"
    assert row["BLEU"] == "32.00 ± 2.65"
    assert row["params (M)"] == "2.00"
    assert rendered(tmp_path, "Costs").iloc[0]["seconds"] == "120.0 ± 20.0"


def test_seeds_fold_whatever_the_order_of_their_overrides(tmp_path: Path) -> None:
    make_run(tmp_path, "model=rnn,loss=joint,seed=1-00000001", seed=1)
    make_run(tmp_path, "loss=joint,model=rnn,seed=2-00000002", seed=2)
    make_run(tmp_path, "model=rnn,seed=1-00000003", seed=1)
    assert list(rendered(tmp_path)["arm"]) == ["loss=joint (2 seeds)", "rnn"]


def test_a_seed_without_a_test_set_is_counted(tmp_path: Path) -> None:
    make_run(tmp_path, "seed=1-00000001", seed=1, tests={"toy": scores(30.0), "other": scores(10.0)})
    make_run(tmp_path, "seed=2-00000002", seed=2, tests={"toy": scores(32.0)})
    assert list(rendered(tmp_path).iloc[0]["BLEU"]) == ["10.00 (1 of 2)", "31.00 ± 1.41"]


def test_other_configs_and_repetitions_do_not_fold(tmp_path: Path) -> None:
    runs = [make_run(tmp_path, f"model=rnn-0000000{i}", seed=seed) for i, seed in enumerate((1, 1, 2))]
    (runs[2] / "config.yaml").write_text("seed: 2\nmodel: {d_model: 8}\n")
    assert list(rendered(tmp_path)["arm"]) == [f"rnn ({run.name})" for run in runs]


def test_a_label_is_what_tells_the_runs_apart(tmp_path: Path) -> None:
    for model, loss in (("rnn", "joint"), ("lm4mt", "joint"), ("lm4mt", "decayed")):
        make_run(tmp_path, f"experiment=x,scale=toy,model={model},loss={loss}-0123abcd")
    make_run(tmp_path, "experiment=x,scale=toy-0123abcd")
    assert list(rendered(tmp_path)["arm"]) == ["lm4mt loss=decayed", "lm4mt loss=joint", "rnn", "rnn loss=joint"]


def test_an_unfinished_run_is_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path, "model=rnn-0123abcd")
    make_unfinished(tmp_path, "sweep/model=lm4mt,seed=7-89abcdef")
    for tool in (".hydra", "wandb"):
        (run / tool).mkdir()
        (run / tool / "config.yaml").write_text("seed: 1\n")
    cells = rendered(tmp_path)
    assert list(cells["arm"]) == ["rnn", "lm4mt (unfinished)"]
    assert set(cells.iloc[1, 1:]) == {MISSING}
    main([str(tmp_path)])
    assert "lm4mt (unfinished)" in capsys.readouterr().out
    link = "sweep/model_lm4mt-seed_7-89abcdef/"
    markdown = (tmp_path / "report.md").read_text()
    assert "| lm4mt (unfinished) | –" in markdown
    assert f"]({link})" in markdown
    assert link in (tmp_path / "report.html").read_text()


def test_only_unfinished_runs_make_a_report(tmp_path: Path) -> None:
    make_unfinished(tmp_path, "model=rnn-0123abcd")
    assert main([str(tmp_path)]) == 0
    assert "rnn (unfinished)" in (tmp_path / "report.tex").read_text()


@pytest.mark.parametrize(
    ("key", "other"),
    [("bleu_signature", "tok:intl"), ("chrf_signature", "nc:4"), ("beam_size", 1), ("length_penalty", 1)],
)
def test_scores_made_differently_are_refused(tmp_path: Path, key: str, other: object) -> None:
    make_run(tmp_path, "first-00000001", tests={"toy": scores()})
    make_run(tmp_path, "second-00000002", tests={"toy": scores(**{key: other})})
    with pytest.raises(
        UserError, match=rf"test\.toy\.{key} differs .*in .*first-00000001; {other} in .*second-00000002"
    ):
        main([str(tmp_path)])
    assert not list(tmp_path.glob("report.*"))


def test_test_sets_may_differ_from_each_other(tmp_path: Path) -> None:
    make_run(tmp_path, "a", tests={"toy": scores(beam_size=4), "other": scores(beam_size=1)})
    refuse_mixtures(runs_of(rows_of(tmp_path)), ())


def test_no_runs_and_broken_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no folder .*nowhere"):
        main([str(tmp_path / "nowhere")])
    with pytest.raises(UserError, match=r"no runs below .*; train one with `triptych train`"):
        main([str(tmp_path)])
    (make_run(tmp_path, "a") / "result.json").write_text('{"run": ')
    with pytest.raises(UserError, match=r"a/result\.json cannot be read .*which does not train again"):
        main([str(tmp_path)])


def test_runs_of_an_earlier_version_are_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path, "model=rnn-0123abcd")
    described = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(described | {"format": 3, "version": "0.9.0"}))
    with pytest.raises(UserError, match=r"model_rnn-0123abcd was made by triptych 0\.9\.0, whose run folders"):
        main([str(tmp_path)])
    (run / "run.json").unlink()
    change(run, "version", to="0.1.0")
    with pytest.raises(UserError, match=r"was made by triptych 0\.1\.0, .* report it with the version that made it"):
        main([str(tmp_path)])


def test_the_table_of_a_report_is_a_frame(tmp_path: Path) -> None:
    for seed, bleu in ((1, 30.0), (2, 31.0)):
        make_run(tmp_path, f"model=rnn,seed={seed}-0000000{seed}", seed=seed, tests={"toy": scores(bleu)})
    found = report(tmp_path)
    assert not list(tmp_path.glob("report.*"))
    assert found.table.loc[0, ["label", "seeds", "toy/bleu", "parameters"]].tolist() == ["rnn", 2, 30.5, 2e6]
    assert [table.title for table in found.tables] == [
        tmp_path.name,
        "Costs",
        "Measures, toy",
        "Measures, validation",
        "Set-up",
        "Runs",
    ]
    assert found.page.startswith("<!doctype html>")
    assert found.write(tmp_path / "elsewhere") == tmp_path / "elsewhere" / "report.html"
    assert "](../model_rnn-seed_1-00000001/)" in (tmp_path / "elsewhere" / "report.md").read_text()


def test_latex_is_escaped(tmp_path: Path) -> None:
    make_run(tmp_path, r"100% a_b & {c} #1 $x \y ~z^2 ± ", tests={"new_test": scores()})
    main([str(tmp_path)])
    text = (tmp_path / "report.tex").read_text()
    assert r"100\% a\_b \& \{c\} \#1 \$x \textbackslash{}y \textasciitilde{}z\textasciicircum{}2 $\pm$" in text
    for part in (r"\begin{tabular}", r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}"):
        assert part in text
    assert all(line.startswith("%") for line in text.partition(r"\begin{tabular}")[0].splitlines())
    rows = [line for line in text.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {3}


def test_latex_sets_any_sign() -> None:
    said = "[x] * “Gülçehre’s” 3 × 10² α → 語 \t\n\n\x07 e\u0301 ǖ"
    cells = pd.DataFrame([[said, said]], columns=pd.MultiIndex.from_tuples([("", said), (said, said)]))
    text = latex.to_latex(Table(said, cells, [said], best=frozenset({(0, 1)})))
    escaped = r"{[}x{]} {*} ``G\"{u}l\c{c}ehre's'' 3 $\times$ 10$^2$ $\alpha$ $\to$ U+8A9E U+0007 eU+0301 U+01D6"
    assert text.isascii()
    assert text.count(escaped) == 7
    assert f"{escaped} & \\textbf{{{escaped}}} \\\\\n" in text
    assert r"\cmidrule(lr){2-2}" in text
    assert not re.search(r"\n\s*\n", text), "an empty line would end a paragraph inside a table"


def test_the_page_needs_nothing_else_and_leads_to_the_runs(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    folder = make_run(runs, "model=rnn,<script>alert(1),note=50%-0123abcd")
    (folder / "metrics.csv").write_text("step,validation/loss\n10,2.5\n20,2.0\n")
    main([str(runs)])
    text = (runs / "report.html").read_text()
    page = Resources(text)
    assert page.loaded == []
    assert set(page.links) == {"model_rnn-%3Cscript%3Ealert%281%29-note_50%25-0123abcd/"}
    assert unpacked(text, "plotly").count("plotly.js v") == 1
    (figure,) = (one for one in json.loads(unpacked(text, "figures")) if len(one["data"][0]["y"]) == 2)
    assert figure["data"][0]["y"] == [2.5, 2.0]
    assert "Validation loss (nats a token)" in page.words
    assert page.scripts == 3, "plotly, the figures, the page's own; none from a label"
    assert sorted(path.name for path in runs.glob("report*")) == [
        f"report.{suffix}" for suffix in ("csv", "html", "md", "tex")
    ]


def test_brackets_in_a_label_are_no_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path, "rnn [bold] [x]")
    main([str(tmp_path)])
    assert "rnn [bold] [x]" in capsys.readouterr().out


def test_figures_share_colours_and_average_seeds(tmp_path: Path) -> None:
    for seed, bleu in ((1, 20.0), (2, 24.0)):
        by_length = [
            {"label": "10+", "low": 10, "high": None, "sentences": 3, "bleu": bleu},
            {"label": "0-9", "low": 0, "high": 10, "sentences": 5, "bleu": bleu + 10},
            {"label": "5-6", "low": 5, "high": 7, "sentences": 0, "bleu": None},
        ]
        folder = make_run(
            tmp_path, f"model=rnn,seed={seed}-0000000{seed}", seed=seed, tests={"toy": scores(by_length=by_length)}
        )
        (folder / "metrics.csv").write_text(
            "step,train/tokens,validation/loss\n10,1000,\n10,,3.0\n20,,9.0\n20,2000,\n15,,2.5\n20,,2.0\n"
        )
    make_run(tmp_path, "model=transformer-0000000a")
    rnn, transformer = rows_of(tmp_path)
    rows = [transformer, rnn]
    lengths = figures.bleu_by_length(rows, "toy")
    losses = figures.validation(rows, "loss")
    assert lengths is not None
    assert losses is not None
    (line,) = lengths.data
    assert list(line.x) == ["0-9", "10+"]
    assert list(line.y) == [32.0, 22.0]
    assert list(line.error_y.array) == pytest.approx([8**0.5, 8**0.5])
    assert {trace.line.color for trace in (*lengths.data, *losses.data)} == {figures.colours(rows)["rnn"]}
    assert [list(trace.y) for trace in losses.data] == [[3.0, 2.5, 2.0]] * 2
    steps = details.validation(rows, "loss", "Loss", ".2f")
    assert steps is not None
    assert steps.rows == [rnn]
    assert steps.cells.droplevel(0, axis=1).to_dict("list") == {
        "arm": ["rnn"], "step 10": ["3.00"], "step 15": ["2.50"], "step 20": ["2.00"]
    }  # fmt: skip
    assert figures.bleu_by_length([transformer], "toy") is None
    assert figures.validation([transformer], "loss") is None


def test_curves_over_what_a_run_has_spent(tmp_path: Path) -> None:
    folder = make_run(tmp_path, "rnn", tokens_src=2000, tokens_tgt=2000, flops=8e9, seconds=7200.0)
    (folder / "metrics.csv").write_text(
        "step,train/tokens,validation/loss\n10,1000,\n20,2000,\n5,,4.0\n15,,3.0\n20,,2.0\n"
    )
    make_unfinished(tmp_path, "left")
    (tmp_path / "left" / "metrics.csv").write_text("step,train/tokens,validation/loss\n10,1000,\n10,,3.0\n")
    figure = figures.validation(rows_of(tmp_path), "loss")
    assert figure is not None
    buttons = {button.label: button.args for button in figure.layout.updatemenus[0].buttons}
    assert list(buttons) == ["steps", "tokens", "FLOPs", "hours"]
    spent = {label: args[0]["x"] for label, args in buttons.items()}
    assert [list(spent[label][0]) for label in buttons] == [
        [5, 15, 20], [500, 1500, 2000], [1e9, 3e9, 4e9], [0.25, 0.75, 1.0]
    ]  # fmt: skip
    assert [label for label, args in buttons.items() if "interpolated" in args[1]["xaxis.title.text"]] == [
        "FLOPs",
        "hours",
    ]
    assert list(spent["tokens"][1]) == [1000]
    assert all(map(pd.isna, spent["hours"][1])), "an unfinished run has no totals yet"


def test_bleu_over_parameters_has_a_point_a_run(tmp_path: Path) -> None:
    for seed, bleu in ((1, 20.0), (2, 24.0)):
        make_run(tmp_path, f"model=rnn,seed={seed}-0000000{seed}", seed=seed, tests={"toy": scores(bleu)})
    make_unfinished(tmp_path, "model=lm4mt-0000000a")
    figure = figures.bleu_by_parameters(rows_of(tmp_path), "toy")
    assert figure is not None
    (points,) = figure.data
    assert (list(points.x), list(points.y), points.mode) == ([2e6, 2e6], [20.0, 24.0], "markers")
    assert figure.layout.xaxis.type == "log"
    assert figures.bleu_by_parameters([ArmRow("x", "x", ())], "toy") is None


def test_recall_by_frequency_is_averaged_over_seeds(tmp_path: Path) -> None:
    def ranges(*recalls: float | None) -> list[dict[str, object]]:
        bounds = [("0", 0, 1), ("1-5", 1, 6), ("6+", 6, None)]
        return [
            {"label": label, "low": low, "high": high, "words": 1200, "recall": recall}
            for (label, low, high), recall in zip(bounds, recalls, strict=True)
        ]

    for seed, recalls in ((1, (0.0, 0.25, 0.9)), (2, (0.1, 0.5, 0.92))):
        tests = {"toy": scores(by_frequency=ranges(*recalls))}
        make_run(tmp_path, f"model=rnn,seed={seed}-0000000{seed}", seed=seed, tests=tests)
    cells = rendered(tmp_path, "Recall of reference words by frequency in training (%), toy")
    assert list(cells.columns) == ["times in training", "0", "1-5", "6+"]
    assert cells.to_numpy().tolist() == [["rnn", "5.00", "37.50", "91.00"], ["words", "1,200", "1,200", "1,200"]]
