"""The report: what it shows, folds and refuses, in each of its formats."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from rich.console import Console

from triptych.commands.report import main
from triptych.errors import UserError
from triptych.metrics import corpus_scores
from triptych.report import figures, significance, tables
from triptych.report.results import find_runs, refuse_mixtures

REFERENCES = [f"the {a} {n} sees a {b} house near the {c} river ." for a, n, b, c in zip(
    ("old", "young", "tall", "small", "blue", "sad") * 5,
    ("man", "woman", "dog", "cat", "child") * 6,
    ("red", "green", "white") * 10,
    ("long", "wide") * 15,
    strict=True,
)]  # fmt: skip


def make_run(root: Path, name: str, seed: int = 1, tests: dict[str, Any] | None = None, **train: Any) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    overrides = sorted(part for part in name[:-9].split(",") if not part.startswith("seed="))
    config = {"seed": seed, "output": str(root), "run_dir": str(folder), "data": {"seed": seed}, "recipe": overrides}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    result = {
        "run": name,
        "config_hash": "0123abcd",
        "version": "0.1.0",
        "seed": seed,
        "model": {"name": "rnn", "parameters": 2_000_000, "parameters_non_embedding": 1_500_000},
        "data": {"name": "toy", "fingerprint": "data-print", "token_stream": f"stream of {seed}"},
        "tokenizer": {"name": "spm", "fingerprint": "tokenizer-print", "vocab_size": 100},
        "train": {"steps": 100, "tokens_src": 3e6, "tokens_tgt": 4e6, "flops": 5.25e15, "flops_6nd": 6e15}
        | {"seconds": 90.0, "tokens_per_second": 1000.0, "device": "cpu", "peak_flops": 2e12, "mfu": 0.25}
        | {"peak_memory_bytes": 3e9}
        | train,
        "validation": {"loss": 1.5, "perplexity": 4.48},
        "test": tests or {"toy": scores()},
    }
    (folder / "result.json").write_text(json.dumps(result))
    return folder


def scores(bleu: float = 30.0, **other: Any) -> dict[str, Any]:
    return {
        "bleu": bleu,
        "bleu_signature": "tok:13a",
        "chrf": 55.5,
        "chrf_signature": "nc:6",
        "sentence_bleu_pieces": 41.25,
        "sentences": 30,
        "seconds": 1.0,
        "beam_size": 4,
        "length_penalty": 0.6,
    } | other


def make_unfinished(root: Path, name: str) -> None:
    (root / name).mkdir(parents=True)
    (root / name / "config.yaml").write_text("seed: 7\n")


def rendered(root: Path) -> pd.DataFrame:
    runs = find_runs(root)
    return tables.render_cells(tables.fold_seeds(tables.tidy(runs)), tables.columns(runs)).droplevel(0, axis=1)


class Resources(HTMLParser):
    """Collects what a page would load, where its links lead, and the text of its cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.scripts = 0
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.scripts += tag == "script"
        self.loaded += [str(values[key]) for key in ("src", "srcset", "data") if key in values]
        if "href" in values:
            (self.links if tag == "a" else self.loaded).append(str(values["href"]))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem is None and data.strip():
            self.words.append(data.strip())


def test_a_run_in_each_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path, "model=rnn,attention=bahdanau-0123abcd")
    assert main([str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == str(tmp_path / "report.html")
    markdown = (tmp_path / "report.md").read_text()
    assert (
        "| rnn attention=bahdanau | 2.00 | 1.50 | 3.00 | 4.00 | 5.25e+15 | 6.00e+15 | 90.0 | 1,000 | 4.48 "
        "| 30.00 | 55.50 | 41.25 |" in markdown
    )
    assert "toy sentence BLEU over pieces" in markdown
    page = " ".join(Resources((tmp_path / "report.html").read_text()).words)
    for text in (printed, markdown, page, (tmp_path / "report.tex").read_text()):
        for wanted in ("rnn attention=bahdanau", "5.25e+15", "41.25", "tok:13a", "nc:6", "beam 4, length penalty 0.6"):
            assert wanted in text
    row = pd.read_csv(tmp_path / "report.csv").iloc[0]
    assert row["parameters"] == 2_000_000
    assert row["toy/sentence_bleu_pieces"] == 41.25
    assert "25.0% of 2 TFLOP/s" in page
    assert "data-print" in page


def test_seeds_fold_into_mean_and_sample_deviation(tmp_path: Path) -> None:
    for seed, bleu, seconds in ((1, 30.0, 100.0), (2, 31.0, 120.0), (3, 35.0, 140.0)):
        make_run(
            tmp_path, f"model=rnn,seed={seed}-0123abc{seed}", seed=seed, tests={"toy": scores(bleu)}, seconds=seconds
        )
    row = rendered(tmp_path).iloc[0]
    # Mean 96 / 3; deviations -2, -1, 3 squared are 14, over n - 1 = 2, whose root is 2.6458.
    assert row["model"] == "rnn (3 seeds)"
    assert row["BLEU"] == "32.00 ± 2.65"
    assert row["seconds"] == "120.0 ± 20.0"
    assert row["parameters (M)"] == "2.00"


def test_seeds_fold_whatever_the_order_of_their_overrides(tmp_path: Path) -> None:
    make_run(tmp_path, "model=rnn,loss=joint,seed=1-00000001", seed=1)
    make_run(tmp_path, "loss=joint,model=rnn,seed=2-00000002", seed=2)
    make_run(tmp_path, "model=rnn,seed=1-00000003", seed=1)
    assert list(rendered(tmp_path)["model"]) == ["loss=joint (2 seeds)", "rnn"]


def test_whether_the_runs_saw_the_same_tokens_is_said(tmp_path: Path) -> None:
    make_run(tmp_path, "model=rnn-00000001", seed=1)
    assert not [note for note in tables.signatures(find_runs(tmp_path)) if "tokens" in note]
    make_run(tmp_path, "model=lm4mt-00000002", seed=1)
    make_run(tmp_path, "model=lm4mt,seed=2-00000003", seed=2)
    assert "same tokens in the same order." in tables.signatures(find_runs(tmp_path))[0]
    result = json.loads((tmp_path / "model=rnn-00000001" / "result.json").read_text())
    result["data"]["token_stream"] = "another"
    (tmp_path / "model=rnn-00000001" / "result.json").write_text(json.dumps(result))
    assert "NOT all trained on the same tokens" in tables.signatures(find_runs(tmp_path))[0]


def test_a_seed_without_a_test_set_is_counted(tmp_path: Path) -> None:
    make_run(tmp_path, "seed=1-00000001", seed=1, tests={"toy": scores(30.0), "other": scores(10.0)})
    make_run(tmp_path, "seed=2-00000002", seed=2, tests={"toy": scores(32.0)})
    assert list(rendered(tmp_path).iloc[0]["BLEU"]) == ["10.00 (1 of 2)", "31.00 ± 1.41"]


def test_other_configs_and_repetitions_do_not_fold(tmp_path: Path) -> None:
    names = [f"model=rnn-0000000{i}" for i in range(3)]
    for name, seed in zip(names, (1, 1, 2), strict=True):
        make_run(tmp_path, name, seed=seed)
    (tmp_path / names[2] / "config.yaml").write_text("seed: 2\nmodel: {d_model: 8}\n")
    assert list(rendered(tmp_path)["model"]) == [f"rnn ({name})" for name in names]


def test_a_label_is_what_tells_the_runs_apart(tmp_path: Path) -> None:
    for model, loss in (("rnn", "joint"), ("lm4mt", "joint"), ("lm4mt", "decayed")):
        make_run(tmp_path, f"experiment=x,scale=toy,model={model},loss={loss}-0123abcd")
    make_run(tmp_path, "experiment=x,scale=toy-0123abcd")
    assert list(rendered(tmp_path)["model"]) == ["lm4mt loss=decayed", "lm4mt loss=joint", "rnn", "rnn loss=joint"]


def test_an_unfinished_run_is_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path, "model=rnn-0123abcd")
    make_unfinished(tmp_path, "sweep/model=lm4mt,seed=7-89abcdef")
    (tmp_path / "model=rnn-0123abcd" / ".hydra").mkdir()
    (tmp_path / "model=rnn-0123abcd" / ".hydra" / "config.yaml").write_text("seed: 1\n")
    cells = rendered(tmp_path)
    assert list(cells["model"]) == ["rnn", "lm4mt (unfinished)"]
    assert set(cells.iloc[1, 1:]) == {tables.MISSING}
    main([str(tmp_path)])
    assert "lm4mt (unfinished)" in capsys.readouterr().out
    assert "| lm4mt (unfinished) | –" in (tmp_path / "report.md").read_text()
    assert "sweep/model%3Dlm4mt%2Cseed%3D7-89abcdef/" in (tmp_path / "report.html").read_text()


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
    refuse_mixtures(find_runs(tmp_path))


def test_no_runs_and_broken_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no folder .*nowhere"):
        main([str(tmp_path / "nowhere")])
    with pytest.raises(UserError, match=r"no runs below .*; train one with `triptych train`"):
        main([str(tmp_path)])
    (make_run(tmp_path, "a") / "result.json").write_text('{"run": ')
    with pytest.raises(UserError, match=r"a/result\.json cannot be read"):
        main([str(tmp_path)])


def test_latex_is_escaped(tmp_path: Path) -> None:
    make_run(tmp_path, r"100% a_b & {c} #1 $x \y ~z^2 ± ", tests={"new_test": scores()})
    main([str(tmp_path)])
    text = (tmp_path / "report.tex").read_text()
    assert r"100\% a\_b \& \{c\} \#1 \$x \textbackslash{}y \textasciitilde{}z\textasciicircum{}2 $\pm$" in text
    assert r"\multicolumn{3}{c}{new\_test}" in text
    for part in (
        r"\documentclass",
        r"\usepackage{booktabs}",
        r"\toprule",
        r"\midrule",
        r"\bottomrule",
        r"\end{document}",
    ):
        assert part in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {12}


def test_the_page_needs_nothing_else_and_leads_to_the_runs(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    folder = make_run(runs, "model=rnn,<script>alert(1),note=50%-0123abcd")
    (folder / "metrics.csv").write_text("step,validation/loss\n10,2.5\n20,2.0\n")
    main([str(runs), "--out", str(tmp_path / "pages")])
    text = (tmp_path / "pages" / "report.html").read_text()
    page = Resources(text)
    assert page.loaded == []
    assert set(page.links) == {"../runs/model%3Drnn%2C%3Cscript%3Ealert%281%29%2Cnote%3D50%25-0123abcd/"}
    assert text.count("plotly.js v") == 1
    assert "Validation loss (nats a token)" in page.words
    assert page.scripts == 3, "plotly, one figure, the repainting; none from a label"
    assert sorted(path.name for path in (tmp_path / "pages").iterdir()) == [
        f"report.{suffix}" for suffix in ("csv", "html", "md", "tex")
    ]


def test_brackets_in_a_label_are_no_markup(tmp_path: Path) -> None:
    make_run(tmp_path, "rnn [bold] [x]")
    runs = find_runs(tmp_path)
    cells = tables.render_cells(tables.fold_seeds(tables.tidy(runs)), tables.columns(runs))
    for table in (cells, tables.transpose(cells)):
        console = Console(width=400)
        with console.capture() as captured:
            console.print(tables.to_rich(table, "title", ["nrefs:[1]"]))
        text = captured.get()
        assert all(word in text for word in ("[bold]", "[x]", "nrefs:[1]", "41.25"))


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
    runs = find_runs(tmp_path)
    arms = {"transformer": runs[2:], "rnn": runs[:2]}
    lengths = figures.bleu_by_length(arms, "toy")
    losses = figures.validation(arms, "loss")
    assert lengths is not None
    assert losses is not None
    (line,) = lengths.data
    assert list(line.x) == ["0-9", "10+"]
    assert list(line.y) == [32.0, 22.0]
    assert list(line.error_y.array) == pytest.approx([8**0.5, 8**0.5])
    assert {trace.line.color for trace in (*lengths.data, *losses.data)} == {figures.colours(list(arms))["rnn"]}
    assert [list(trace.y) for trace in losses.data] == [[3.0, 2.5, 2.0]] * 2
    tokens = losses.layout.updatemenus[0].buttons[1].args[0]["x"]
    assert list(tokens[0]) == [1000, 1500, 2000]
    steps = tables.validation(arms, "loss", ".2f")
    assert steps is not None
    assert steps.droplevel(0, axis=1).to_dict("list") == {
        "model": ["rnn"], "step 10": ["3.00"], "step 15": ["2.50"], "step 20": ["2.00"]
    }  # fmt: skip
    assert figures.bleu_by_length({"transformer": runs[2:]}, "toy") is None
    assert figures.validation({"transformer": runs[2:]}, "loss") is None


def test_significance_against_the_best_arm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    worse = [line.replace("house", "car") for line in REFERENCES]
    bad = [line.replace("river", "road") for line in worse]
    even = [line if i % 2 else bad_line for i, (line, bad_line) in enumerate(zip(worse, bad, strict=True))]
    odd = [bad_line if i % 2 else line for i, (line, bad_line) in enumerate(zip(worse, bad, strict=True))]
    one = [bad[0], *even[1:-1], REFERENCES[-1]]
    outputs = {"even": even, "odd": odd, "one": one, "bad": bad}
    for name, lines in outputs.items():
        found = corpus_scores(lines, REFERENCES)
        folder = make_run(tmp_path, name, tests={"toy": scores(**found)})
        write_translations(folder, lines, REFERENCES)
    arms = {run.label: run for run in find_runs(tmp_path)}
    table = significance.compare(arms, "toy")
    assert table is not None
    table = table.droplevel(0, axis=1).set_index("model")
    bleus = {name: corpus_scores(lines, REFERENCES)["bleu"] for name, lines in outputs.items()}
    assert list(table.index) == sorted(bleus, key=lambda name: -bleus[name])
    assert table.index[0] == "one"
    assert table.loc["one", "p"] == ""
    assert table.loc["even", "p"] == tables.MISSING, "one sentence differs, which proves nothing"
    assert float(table.loc["odd", "p"]) > 0.1
    assert float(table.loc["bad", "p"]) < 0.01
    assert table.loc["bad", "Δ BLEU"] == f"−{bleus['one'] - bleus['bad']:.2f}"
    main([str(tmp_path)])
    assert "Significance, toy" in capsys.readouterr().out
    assert "Δ BLEU" in (tmp_path / "report.md").read_text()
    assert r"$\Delta$ BLEU" in (tmp_path / "report.tex").read_text()


def test_translations_that_miss_the_recorded_score_are_not_tested(tmp_path: Path) -> None:
    for name, bleu in (("good", 100.0), ("stale", 42.0)):
        write_translations(make_run(tmp_path, name, tests={"toy": scores(bleu)}), REFERENCES, REFERENCES)
    assert significance.compare({run.label: run for run in find_runs(tmp_path)}, "toy") is None


def write_translations(folder: Path, hypotheses: list[str], references: list[str]) -> None:
    (folder / "translations").mkdir()
    (folder / "translations" / "toy.txt").write_text("".join(f"{line}\n" for line in hypotheses))
    (folder / "translations" / "toy.ref.txt").write_text("".join(f"{line}\n" for line in references))
