"""What a report refuses: scores that were not made alike, and results that are not those of their translations."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from made_runs import NODE, REFERENCES, add_arm, arm_overrides, change, make_arm, make_run, rows_of, scores, spoilt

from triptych.commands.report import main
from triptych.errors import UserError
from triptych.evaluation.metrics import ChrF
from triptych.evaluation.moses_bleu import MosesBleu
from triptych.reports.build import report
from triptych.reports.comparability import SEARCH
from triptych.reports.reader import find_runs
from triptych.runs.digests import with_digests
from triptych.runs.folder import RunFolder, write_json


def test_arms_of_several_studies_are_refused(tmp_path: Path) -> None:
    make_arm(tmp_path, 0, "model=a", status="waiting")
    make_arm(tmp_path, 1, "model=b", status="waiting", study=None)
    with pytest.raises(UserError, match=r"several studies \(no study, table3\); give each sweep an output"):
        main([str(tmp_path)])


def test_a_study_varies_what_a_study_can(tmp_path: Path) -> None:
    add_arm(tmp_path, 0, "base", node=NODE | {"varies": ["metric"]})
    with pytest.raises(UserError, match=r"study\.varies=metric is unknown; choose one of tokens, search"):
        main([str(tmp_path)])


def test_other_tokens_are_refused_unless_they_are_meant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "sweep"
    add_arm(root, 0, "base")
    add_arm(root, 1, "base", seed=2)
    main([str(root)])
    assert "same tokens" not in capsys.readouterr().out, "no two runs share a seed"
    other = add_arm(root, 2, "A1")
    main([str(root)])
    assert "all arms saw the same tokens" in " ".join(capsys.readouterr().out.split())
    make_arm(root, 3, *arm_overrides("B1"), status="waiting")
    main([str(root)])
    assert "all finished runs saw the same tokens" in " ".join(capsys.readouterr().out.split())
    change(other, "data", "token_stream", to="another stream")
    with pytest.raises(
        UserError, match=r"base and A1 were not .* \(seed 1\): .* in an output=… of their own, or add --unequal"
    ):
        main([str(root)])
    main([str(root), "--unequal"])
    assert "NOT all trained on the same tokens" in " ".join(capsys.readouterr().out.split())
    for run in root.glob("*/config.yaml"):
        run.write_text(run.read_text().replace("varies: []", "varies: [tokens]"))
    main([str(root)])
    assert "The arms saw different tokens, on purpose." in " ".join(capsys.readouterr().out.split())


def test_seeds_of_two_versions_are_one_row(tmp_path: Path) -> None:
    """The older one lacks keys whose values change nothing."""
    older, later = (add_arm(tmp_path, seed - 1, "base", seed=seed) for seed in (1, 2))
    for run, search in ((older, "beam_size: 4"), (later, "beam_size: 4, stop: exact, min_length: 0")):
        config = run / "config.yaml"
        config.write_text(f"{config.read_text()}search: {{{search}}}\n")
    config.write_text(f"{config.read_text()}init: null\n")
    (row,) = rows_of(tmp_path)
    assert len(row.finished) == 2
    config.write_text(config.read_text().replace("stop: exact", "stop: first"))
    assert len(rows_of(tmp_path)) == 2


def test_every_two_arms_are_compared(tmp_path: Path) -> None:
    """A run that diverged has seen the beginning of both streams, which do not agree with each other."""
    first = add_arm(tmp_path, 0, "base")
    change(first, "data", "token_stream", to="a short stream")
    change(first, "diverged", to=True)
    add_arm(tmp_path, 1, "A1")
    main([str(tmp_path)])
    other = add_arm(tmp_path, 2, "B1")
    change(other, "data", "token_stream", to="another stream")
    with pytest.raises(UserError, match="A1 and B1 were not trained on the same tokens"):
        main([str(tmp_path)])


def test_seeds_that_have_had_other_budgets_are_refused(tmp_path: Path) -> None:
    add_arm(tmp_path, 0, "base")
    other = add_arm(tmp_path, 1, "A1", seed=2)
    main([str(tmp_path)])
    config = other / "config.yaml"
    config.write_text(config.read_text() + "budget: {steps: 7}\n")
    with pytest.raises(UserError, match=r"base \(seed 1\) and A1 \(seed 2\) were not trained on as many tokens"):
        main([str(tmp_path)])
    main([str(tmp_path), "--unequal"])


def test_seeds_that_have_left_out_other_pairs_are_refused(tmp_path: Path) -> None:
    add_arm(tmp_path, 0, "base")
    other = add_arm(tmp_path, 1, "A1", seed=2)
    config = other / "config.yaml"
    config.write_text(config.read_text().replace("data:\n", "data:\n  max_length: 20\n"))
    with pytest.raises(UserError, match=r"base \(seed 1\) and A1 \(seed 2\) were not trained on as many tokens"):
        main([str(tmp_path)])


def test_runs_that_stopped_early_are_compared_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_arm(tmp_path, 0, "base")
    other = add_arm(tmp_path, 1, "A1")
    main([str(tmp_path)])
    assert "Stopped early" not in capsys.readouterr().out
    change(other, "data", "token_stream", to="a shorter stream")
    with pytest.raises(UserError, match="not trained on the same tokens"):
        main([str(tmp_path)])
    change(other, "stopped_early", to=True)
    change(other, "train", "planned_steps", to=1200)
    main([str(tmp_path)])
    sentence = "Stopped early: 1 of 2 runs, after 100 of 1,200 steps, so budgets are not equal."
    assert sentence in " ".join(capsys.readouterr().out.split())


def test_a_run_of_an_earlier_version_is_compared_by_its_settings_and_amounts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hashes of its batches are of another kind."""
    add_arm(tmp_path, 0, "base")
    other = add_arm(tmp_path, 1, "A1")
    change(other, "data", "token_stream", to="sum:0123")
    main([str(tmp_path)])
    assert "all arms saw the same tokens" in " ".join(capsys.readouterr().out.split())
    change(other, "train", "steps", to=90)
    with pytest.raises(UserError, match="not trained on the same tokens"):
        main([str(tmp_path)])
    change(other, "stopped_early", to=True)
    change(other, "train", "planned_steps", to=100)
    main([str(tmp_path)])
    assert "one arm saw the beginning of another's tokens" in " ".join(capsys.readouterr().out.split())


def test_runs_that_began_with_the_weights_of_another_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_arm(tmp_path, 0, "base")
    other = add_arm(tmp_path, 1, "A1")
    main([str(tmp_path)])
    assert "Fine-tuned" not in capsys.readouterr().out
    change(other, "init", to={"run": "first", "training_hash": "0123abcd", "checkpoint": "best"})
    main([str(tmp_path)])
    assert "Fine-tuned: 1 of 2 runs began with the weights" in " ".join(capsys.readouterr().out.split())


def test_equal_flops_are_noted_where_one_stream_begins_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_arm(tmp_path, 0, "base")
    other = add_arm(tmp_path, 1, "A1")
    for path in tmp_path.glob("*/config.yaml"):
        path.write_text(path.read_text() + "budget: {flops: 1.0e+12}\n")
    change(other, "data", "token_stream", to="a longer stream")
    main([str(tmp_path)])
    assert "Equal FLOPs: for a given seed, one arm saw the beginning of" in " ".join(capsys.readouterr().out.split())
    change(other, "data", "token_stream_after", to={"1": "another beginning"})
    with pytest.raises(UserError, match="not trained on the same tokens"):
        main([str(tmp_path)])
    main([str(tmp_path), "--unequal"])
    assert "NOT all trained on the same tokens" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("key", SEARCH)
def test_other_searches_are_refused(tmp_path: Path, key: str) -> None:
    add_arm(tmp_path, 0, "base", tests={"toy": scores(**dict.fromkeys(SEARCH, 2))})
    add_arm(tmp_path, 1, "A1", tests={"toy": scores(**dict.fromkeys(SEARCH, 2) | {key: 3})})
    with pytest.raises(UserError, match=rf"test\.toy\.{key} differs"):
        main([str(tmp_path)])


def test_several_scales_are_named(tmp_path: Path) -> None:
    """The first setting that differed was named, which nobody had given."""
    for number, scale in enumerate(("smoke", "toy")):
        given = f"scale={scale}-0000000{number}"
        make_run(tmp_path, given, tests={"toy": scores(beam_size=number + 1)}, overrides=[f"scale={scale}"])
    with pytest.raises(UserError, match="of several scales \\(scale=smoke and scale=toy\\)"):
        report(tmp_path)


def test_penalties_that_each_run_tuned_may_differ(tmp_path: Path) -> None:
    tuned = {"length_penalty_tuned": {"0": 1.0}, "at_common_penalty": {"bleu": 29.5}}
    add_arm(tmp_path / "tuned", 0, "base", tests={"toy": scores(length_penalty=1.2, **tuned)})
    add_arm(tmp_path / "tuned", 1, "A1", tests={"toy": scores(length_penalty=0.4, **tuned)})
    main([str(tmp_path / "tuned")])
    text = (tmp_path / "tuned" / "report.md").read_text()
    assert "length penalty 0.4 or 1.2, tuned for each run by BLEU on validation sentences" in text
    assert "| 1.2 | 29.50 |" in text
    add_arm(tmp_path / "tuned", 2, "A2", tests={"toy": scores(length_penalty=0.4)})
    with pytest.raises(UserError, match=r"test\.toy\.length_penalty differs between runs \(tuned in .*; 0\.4 in"):
        main([str(tmp_path / "tuned")])


def test_results_of_before_stopped_exactly(tmp_path: Path) -> None:
    add_arm(tmp_path, 0, "base", tests={"toy": scores()})
    add_arm(tmp_path, 1, "A1", tests={"toy": scores(stop="exact")})
    main([str(tmp_path)])
    assert "search.stop" not in (tmp_path / "report.md").read_text()
    add_arm(tmp_path, 2, "A2", tests={"toy": scores(stop="first")})
    with pytest.raises(UserError, match=r"test\.toy\.stop differs between runs \(exact in .* and 1 more; first in"):
        main([str(tmp_path)])


def test_numbers_that_are_equal_are_alike(tmp_path: Path) -> None:
    add_arm(tmp_path, 0, "base", tests={"toy": scores(max_length_ratio=1)})
    add_arm(tmp_path, 1, "A1", tests={"toy": scores(max_length_ratio=1.0)})
    main([str(tmp_path)])
    add_arm(tmp_path, 2, "A2", tests={"toy": scores(max_length_ratio=1.5)})
    with pytest.raises(UserError, match=r"test\.toy\.max_length_ratio differs between runs"):
        main([str(tmp_path)])


def test_what_is_unusual_about_a_search_is_named(tmp_path: Path) -> None:
    make_run(tmp_path, "a", tests={"toy": scores(stop="first", min_length=3)})
    main([str(tmp_path)])
    assert "beam 4, length penalty 0.6, search.min_length=3, search.stop=first" in (tmp_path / "report.md").read_text()


def test_every_measure_has_a_column(tmp_path: Path) -> None:
    measured = {
        "bleu_details": {"brevity_penalty": 0.9391, "length_ratio": 0.9409, "precisions": [60.0, 40.0, 30.0, 20.0]},
        **{"chrfpp": 51.25, "chrfpp_signature": "nw:2", "ter": 44.5, "ter_signature": "ter"},
        **{"nats_per_sentence": 17.1234, "nats_per_word": 1.41421, "repetition_rate": 0.0123, "cut_share": 0.002},
    }
    make_run(tmp_path, "a", tests={"toy": scores(**measured)})
    make_run(tmp_path, "b", tests={"toy": scores(nats_per_sentence=None, nats_per_word=None)})
    main([str(tmp_path)])
    table = (tmp_path / "report.md").read_text().partition("## Measures, toy\n\n")[2]
    header, _, one, other = table.splitlines()[:4]
    for name, figure in (
        *(
            ("brevity penalty", "0.939"),
            ("length ratio", "0.941"),
            ("n-gram precision", "34.64"),
            ("chrF++", "51.25"),
            ("TER", "44.50"),
        ),
        *(("nats/sentence", "17.12"), ("nats/word", "1.414"), ("repetition rate", "0.0123"), ("share cut", "0.0020")),
    ):
        column = [cell.strip() for cell in header.split("|")].index(name)
        assert one.split("|")[column].strip() == figure
        assert other.split("|")[column].strip() == "–"


def test_a_search_that_a_study_varies_is_not_refused(tmp_path: Path) -> None:
    for node, root in ((NODE | {"varies": ["search"]}, tmp_path / "meant"), (NODE, tmp_path / "not")):
        add_arm(root, 0, "base", node=node, tests={"toy": scores()})
        add_arm(root, 1, "A1", node=node, tests={"toy": scores(beam_size=1)})
    main([str(tmp_path / "meant")])
    assert "beam 4 or 1, length penalty 0.6" in (tmp_path / "meant" / "report.md").read_text()
    with pytest.raises(UserError, match=r"test\.toy\.beam_size differs"):
        main([str(tmp_path / "not")])


@pytest.mark.parametrize(("key", "value"), [("bleu_signature", "tok:intl"), ("text", "other text")])
def test_metric_and_text_are_varied_by_no_study(tmp_path: Path, key: str, value: str) -> None:
    node = NODE | {"varies": ["tokens", "search"]}
    add_arm(tmp_path, 0, "base", node=node)
    add_arm(tmp_path, 1, "A1", node=node, tests={"toy": scores(**{key: value})})
    with pytest.raises(UserError, match=rf"test\.toy\.{key} differs"):
        main([str(tmp_path)])


@pytest.mark.parametrize(
    ("key", "to", "words"),
    [
        ("bleu", 42.0, r"test\.toy\.bleu is 42, and its translations score "),
        ("chrf", 42.0, r"test\.toy\.chrf is 42, and its translations score "),
        ("chrf_signature", "nrefs:1|case:mixed|eff:yes|nc:6|nw:2", r"chrf_signature is .* is nrefs:1"),
        ("bleu_signature", "nrefs:1|case:mixed|eff:no|tok:13a|smooth:floor[0.10]", r"sacreBLEU's .* is nrefs:1"),
        ("bleu_signature", "nrefs:1|case:lc|eff:no|tok:intl|smooth:exp", r"smooth:exp, and .*version:"),
        ("bleu_signature", "tok:mine", r"bleu_signature is none \(.* no tokenisation"),
    ],
)
def test_a_result_that_its_translations_contradict_is_refused(tmp_path: Path, key: str, to: object, words: str) -> None:
    run = make_run(tmp_path, "model=rnn-0123abcd", lines=spoilt(0.2))
    main([str(tmp_path)])
    change(run, "test", "toy", key, to=to)
    with pytest.raises(UserError, match=rf"model_rnn-0123abcd has been tampered with: .*{words}"):
        main([str(tmp_path)])
    (run / "translations" / "toy.ref.txt").unlink()
    main([str(tmp_path)])


def test_a_seed_that_is_not_the_configs_is_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path, "model=rnn-0123abcd")
    change(run, "seed", to=2)
    with pytest.raises(UserError, match=r"tampered with: its result has seed 2, and its config 1; train it again"):
        main([str(tmp_path)])


def test_arms_of_other_seeds_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path, "model=rnn-00000001", seed=1)
    make_run(tmp_path, "model=transformer-00000002", seed=2)
    main([str(tmp_path)])
    assert "The arms differ in their seeds: rnn 1; transformer 2." in " ".join(capsys.readouterr().out.split())


def test_translations_that_were_changed_are_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path, "model=rnn-0123abcd", lines=spoilt(0.2))
    path = run / "translations" / "toy.txt"
    path.write_text(path.read_text() + "one more\n")
    with pytest.raises(UserError, match=r"tampered with: translations/toy\.txt has 31 lines for 30 references"):
        main([str(tmp_path)])
    path.write_bytes(b"\xff\n" * 30)
    with pytest.raises(UserError, match=r"toy\.txt cannot be read"):
        main([str(tmp_path)])


def test_sources_and_references_that_were_changed_are_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path, "model=rnn-0123abcd", lines=spoilt(0.2), sources=[*REFERENCES])
    main([str(tmp_path)])
    path = run / "translations" / "toy.src.txt"
    path.write_text(path.read_text().replace("old", "new"))
    with pytest.raises(UserError, match=r"tampered with: test\.toy\.text is .*, and its sources and references are "):
        main([str(tmp_path)])


def sealed(run: Path) -> None:
    """Give a made run the digests that a trained one has."""
    result = json.loads((run / "result.json").read_text())
    write_json(run / "result.json", with_digests(result, RunFolder(run)))


def test_log_likelihoods_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    """They passed: NaN differs from nothing by more than anything."""
    run = make_run(tmp_path, "model=rnn-0123abcd", lines=spoilt(0.2), nats=[2.5] * 30)
    path = run / "translations" / "toy.nats.txt"
    path.write_text(path.read_text().replace("2.5000", "nan", 1))
    with pytest.raises(UserError, match=r"tampered with: test\.toy\.nats_per_sentence is 2\.5, and .* give nan"):
        main([str(tmp_path)])


@pytest.mark.parametrize("name", ["toy.nats.txt", "toy.txt", "toy.ref.txt"])
def test_lines_in_another_order_are_refused(tmp_path: Path, name: str) -> None:
    """The mean of the log-likelihoods stays, and so may BLEU; the intervals change."""
    run = make_run(tmp_path, "model=rnn-0123abcd", lines=["A cat."] * 29 + ["A dog."], nats=[*map(float, range(30))])
    sealed(run)
    main([str(tmp_path)])
    path = run / "translations" / name
    before = path.read_text()
    path.write_bytes(before.replace("\n", "\r\n").encode() if name == "toy.nats.txt" else before.encode())
    main([str(tmp_path)])
    path.write_text("".join(sorted(before.splitlines(keepends=True), reverse=True)))
    with pytest.raises(UserError, match=r"has changed since it was written: its translations/toy|tampered"):
        main([str(tmp_path)])


def test_a_study_that_was_edited_after_the_training_is_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path, "model=rnn-0123abcd", study={"name": "mine", "margin": None})
    sealed(run)
    main([str(tmp_path)])
    config = run / "config.yaml"
    config.write_text(config.read_text().replace("margin: null", "margin: 100"))
    with pytest.raises(UserError, match=r"has changed since .*: the study in its config\.yaml is not the one"):
        main([str(tmp_path)])


def test_studies_that_differ_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make_run(tmp_path, "model=rnn-00000001", study={"name": "mine", "margin": None, "deviations": ["a"]})
    make_run(tmp_path, "model=transformer-00000002", study={"name": "mine", "margin": 100, "deviations": ["b"]})
    main([str(tmp_path)])
    assert "study.margin differs between the runs; the report goes by that of the first." in caplog.text


@pytest.mark.parametrize(("sources", "rows"), [(("aaaa", "bbbb"), 2), (("aaaa", "aaaa"), 1)])
def test_runs_that_began_with_other_weights_are_other_arms(tmp_path: Path, sources: tuple[str, str], rows: int) -> None:
    """The path was compared, and not the run that lay there."""
    for seed, source in enumerate(sources, 1):
        run = make_run(tmp_path, f"init=base{seed},seed={seed}-0000000{seed}", seed)
        config = run / "config.yaml"
        config.write_text(
            re.sub(r"(?m)^recipe:\n(- .*\n)*", "", config.read_text()) + f"init: runs/base{seed * (rows == 1)}\n"
        )
        change(run, "init", to={"run": "base", "training_hash": source, "checkpoint": "best"})
    assert len(report(tmp_path).table) == rows


def test_folders_of_runs_that_were_swapped_are_refused(tmp_path: Path) -> None:
    """Each arm had the other's figures."""
    runs = [add_arm(tmp_path, place, name) for place, name in enumerate(("A1", "B1"))]
    for place, run in enumerate(runs):
        change(run, "config_hash", to=f"0000000{place}")
    for path in (tmp_path / "arms").iterdir():
        arm = json.loads(path.read_text())
        path.write_text(json.dumps(arm | {"config_hash": f"0000000{arm['place']}"}))
    main([str(tmp_path)])
    aside = runs[0].rename(tmp_path / "aside")
    runs[1].rename(runs[0])
    aside.rename(runs[1])
    with pytest.raises(
        UserError, match=r"is not the run that the arm .* trained; give the folders of the runs their names"
    ):
        main([str(tmp_path)])


def test_a_run_that_was_given_another_name_in_tables_is_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path, "model=rnn-0123abcd")
    sealed(run)
    main([str(tmp_path)])
    record = run / "run.json"
    record.write_text(record.read_text().replace("model=rnn", "model=transformer"))
    with pytest.raises(UserError, match=r"has changed since it was written: its run\.json is not the one"):
        main([str(tmp_path)])


def test_the_configuration_of_another_program_is_no_run(tmp_path: Path) -> None:
    """A config.yaml beside the runs ended the report."""
    make_run(tmp_path, "model=rnn-0123abcd")
    for name in ("config.yaml", "result.json"):
        (tmp_path / name).write_text("a: 1" if name == "config.yaml" else "{}")
        main([str(tmp_path)])
        (tmp_path / name).unlink()


def test_runs_that_share_their_weights_are_one_training_whatever_they_are_called(tmp_path: Path) -> None:
    """The name of the other run was compared, which renaming changes."""
    for name, of in (("model=rnn-0123abcd", "itself"), ("search.beam_size=1-0123abcd", "gone")):
        run = make_run(tmp_path, name)
        change(run, "training_hash", to="aaaa")
        change(run, "weights_of", to=of)
    assert len({run.training for run in find_runs(tmp_path)}) == 1


CHRF = {"_target_": "triptych.evaluation.metrics.ChrF", "char_order": 6, "word_order": 2, "beta": 3, "lowercase": True}
OWN = {"_target_": "mine.Metric"}


def test_scores_are_computed_again_with_the_settings_of_the_config(tmp_path: Path) -> None:
    lines = spoilt(0.2)
    run = make_run(tmp_path, "model=rnn-0123abcd", lines=lines)
    settings = {"chrf": CHRF, "mine": OWN}
    (run / "config.yaml").write_text((run / "config.yaml").read_text() + f"metric: {json.dumps(settings)}\n")
    found = ChrF(char_order=6, word_order=2, beta=3, lowercase=True).score(lines, REFERENCES, REFERENCES)
    own = {"chrf": found.score, "chrf_signature": found.signature, "mine": 0.8512, "mine_signature": "mine:1"}
    change(run, "test", "toy", to=rows_of(tmp_path)[0].runs[0].tests["toy"] | own)
    main([str(tmp_path)])
    text = (tmp_path / "report.md").read_text()
    assert "chrF | sentence BLEU over pieces | mine |" in text
    assert "| 0.8512 |" in text
    assert "| toy, mine | mine:1 |" in text
    change(run, "test", "toy", "chrf", to=own["chrf"] + 1)
    with pytest.raises(UserError, match=r"tampered with: test\.toy\.chrf is "):
        main([str(tmp_path)])
    settings = {"chrf": CHRF | {"beta": "two"}}
    (run / "config.yaml").write_text(f"seed: 1\nmetric: {json.dumps(settings)}\n")
    with pytest.raises(UserError, match=r"tampered with: test\.toy\.chrf_signature is none \(chrf cannot be built"):
        main([str(tmp_path)])


def test_a_score_that_some_runs_lack_is_no_mixture(tmp_path: Path) -> None:
    without = {key: value for key, value in scores().items() if not key.startswith(("bleu", "chrf"))}
    make_run(tmp_path, "a", tests={"toy": without | {"ter": 50.0, "ter_signature": "ter:1"}})
    make_run(tmp_path, "b", tests={"toy": scores()})
    main([str(tmp_path)])
    text = (tmp_path / "report.md").read_text()
    assert "| BLEU | chrF | TER |" in text
    assert "| a | – | – | 50.00 |" in text
    assert "| b | 30.00 | 55.50 | – |" in text


def test_the_bleu_of_the_literature_is_scored_again_in_the_target_language(tmp_path: Path) -> None:
    lines = spoilt(0.2)
    run = make_run(tmp_path, "model=rnn-0123abcd", lines=lines)
    settings = {"bleu_lc_norm_tok": {"_target_": "triptych.evaluation.moses_bleu.MosesBleu", "language": None}}
    (run / "config.yaml").write_text(f"seed: 1\nmetric: {json.dumps(settings)}\n")
    change(run, "data", "languages", to=["en", "fr"])
    found = MosesBleu(language="fr").score(lines, REFERENCES, REFERENCES)
    key = "bleu_lc_norm_tok"
    tested = rows_of(tmp_path)[0].runs[0].tests["toy"]
    change(run, "test", "toy", to=tested | {key: found.score, f"{key}_signature": found.signature})
    main([str(tmp_path)])
    assert "BLEU lc.norm.tok |" in (tmp_path / "report.md").read_text()
    older = re.sub(r"sacremoses:.*", "sacremoses:0.0.1", found.signature)
    change(run, "test", "toy", f"{key}_signature", to=older)
    with pytest.raises(UserError, match=r"bleu_lc_norm_tok_signature is .*sacremoses:0\.0\.1, and sacreBLEU's"):
        main([str(tmp_path)])
    change(run, "versions", to={"sacremoses": "0.0.1"})
    main([str(tmp_path)])


def test_a_release_of_sacrebleu_is_that_of_the_run(tmp_path: Path) -> None:
    run = make_run(tmp_path, "model=rnn-0123abcd", lines=spoilt(0.2))
    tested = rows_of(tmp_path)[0].runs[0].tests["toy"]
    for key in ("bleu_signature", "chrf_signature"):
        change(run, "test", "toy", key, to=re.sub(r"version:.*", "version:2.5.1", tested[key]))
    with pytest.raises(UserError, match="tampered"):
        main([str(tmp_path)])
    change(run, "versions", to={"sacrebleu": "2.5.1"})
    main([str(tmp_path)])
