"""Archives: what a report needs of many runs in a few files, and the refusal of those that were changed."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import ROOT
from made_runs import (
    REFERENCES,
    Resources,
    add_arm,
    arm_overrides,
    change,
    change_archived,
    folder_of,
    make_arm,
    make_run,
    make_unfinished,
    read_sentences,
    rows_of,
    spoilt,
    write_sentences,
    write_translations,
)

import triptych
from triptych.commands.report import main
from triptych.errors import UserError
from triptych.reports.archive import Archive
from triptych.reports.reader import find_arms, find_runs
from triptych.sweeps.arms import read_arms

SOURCES = [f"le {line}" for line in REFERENCES]


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Five arms: two finished, one of them with two seeds; one failed, one waiting, one left out of the sweep."""
    root = tmp_path / "sweep"
    base = add_arm(root, 1, "base", lines=spoilt(0.05), sources=SOURCES)
    (base / "metrics.csv").write_text("step,train/tokens,validation/loss\n10,1000,\n10,,3.000000000000001\n")
    make_arm(root, 2, *arm_overrides("A2"), status="waiting")
    make_arm(root, 3, *arm_overrides("A1"), status="failed", reason="192 must be divisible.")
    other = add_arm(root, 4, "B1", lines=spoilt(0.4), sources=SOURCES)
    (other / "metrics.csv").write_text("step,validation/bleu\n10,12.5\n")
    add_arm(root, 5, "B1", seed=2, lines=spoilt(0.4, 2), sources=SOURCES)
    make_arm(root, 6, *arm_overrides("C9"), status="left out", reason="C9 is unknown.")
    return root


@pytest.fixture
def archive(sweep: Path) -> Path:
    home = sweep.parent / "kept"
    main([str(sweep), "--keep", str(home)])
    return home


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_an_archive_makes_the_same_report(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = folder_of(rows_of(sweep)[0].runs[0])
    (run / "checkpoints").mkdir()
    (run / "checkpoints" / "best.ckpt").write_bytes(b"weights")
    main([str(sweep)])
    capsys.readouterr()
    home = sweep.parent / "kept"
    main([str(sweep), "--keep", str(home)])
    assert capsys.readouterr().out.splitlines()[-1] == str(home / "report.html")
    for name in ("report.csv", "report.tex"):
        ours, theirs = ((folder / name).read_text().replace("table3, kept", "") for folder in (home, sweep))
        assert ours == theirs.replace("table3, sweep", "")
    theirs = (sweep / "report.md").read_text().replace("table3, sweep", "table3, kept")
    for line, folder in enumerate(("base-00000001", "B1-00000001", "B1-00000002"), start=1):
        theirs = theirs.replace(f"({folder}/)", f"(runs.jsonl#L{line})")
    assert (home / "report.md").read_text() == theirs
    assert "arm=table3/C9 seed=1 failed before it began, and a later sweep left it out: C9 is unknown." in theirs
    assert files_in(home) == {
        *(f"report.{ending}" for ending in ("md", "tex", "csv", "html")),
        "archive.json",
        "runs.jsonl",
        "curves.csv",
        "translations/toy.jsonl.gz",
    }


def test_an_archive_has_everything_that_a_report_reads(sweep: Path, archive: Path) -> None:
    make_unfinished(sweep, "model=lm4mt,seed=7-89abcdef")
    main([str(sweep), "--keep", str(archive)])
    stored = {run.id: run for run in find_runs(archive)}
    assert list(stored) == ["base-00000001", "B1-00000001", "B1-00000002", "model_lm4mt-seed_7-89abcdef"]
    for run in find_runs(sweep):
        again = stored[run.id]
        for what in ("name", "label", "overrides", "seed", "config", "result", "recipe", "tests"):
            assert getattr(again, what) == getattr(run, what), what
        assert again.text("toy") == run.text("toy")
        for metric in ("loss", "bleu"):
            pd.testing.assert_frame_equal(again.curve(metric), run.curve(metric), check_dtype=False)
    assert [arm.__dict__ | {"cut_off": 0} for arm in find_arms(archive)] == [
        arm.__dict__ | {"identity": "", "cut_off": 0} for arm in read_arms(sweep)
    ]
    assert "3.000000000000001" in (archive / "curves.csv").read_text()
    assert json.loads((archive / "archive.json").read_text())["version"] == triptych.__version__
    sentences = read_sentences(archive)
    assert [line["source"] for line in sentences] == SOURCES
    assert [line["reference"] for line in sentences] == REFERENCES


def test_an_archive_can_be_kept_from_an_archive(archive: Path) -> None:
    home = archive.parent / "again"
    main([str(archive), "--keep", str(home)])
    for name in files_in(archive) - {f"report.{ending}" for ending in ("md", "tex", "html")}:
        assert (home / name).read_bytes() == (archive / name).read_bytes()


def test_archives_below_a_folder_are_reported(sweep: Path, archive: Path) -> None:
    root = sweep.parent / "all"
    for name in ("one", "two"):
        shutil.copytree(archive, root / name)
    shutil.copytree(archive, root / ".one.0123abcd")
    main([str(root), "--unequal"])
    text = (root / "report.md").read_text()
    assert "(one/runs.jsonl#L1)" in text
    assert "Sweeps lie below this folder (one, two)" in text
    assert [run.id for run in find_runs(root)] == [f"one/{run.id}" for run in find_runs(archive)], "copies count once"


def test_every_run_of_an_archive_leads_to_its_line(archive: Path) -> None:
    links = [f"runs.jsonl#L{line}" for line in (1, 2, 3)]
    assert Resources((archive / "report.html").read_text()).links == links
    text = (archive / "report.md").read_text()
    for name, link in zip(("base-00000001", "B1-00000001", "B1-00000002"), links, strict=True):
        assert f"| [{name}]({link}) |" in text
    lines = (archive / "runs.jsonl").read_text().splitlines()
    assert [json.loads(line)["run"] for line in lines] == ["base-00000001", "B1-00000001", "B1-00000002"]
    for path in archive.glob("report.*"):
        assert str(archive.parent) not in path.read_text()


@pytest.mark.slow
def test_runs_are_added_to_an_archive(sweep: Path, archive: Path) -> None:
    """As those that were trained later, or elsewhere; the archive is that of all runs kept at once."""
    once = {name: (archive / name).read_bytes() for name in files_in(archive)}
    parts = [sweep.parent / part for part in ("first", "second")]
    for part, others, arms in zip(parts, ("B1-*", "base-*"), ("00[456]*", "00[123]*"), strict=True):
        shutil.copytree(sweep, part)
        for run in part.glob(others):
            shutil.rmtree(run)
        for arm in (part / "arms").glob(arms):
            arm.unlink()
    joined = sweep.parent / "joined"
    with pytest.raises(UserError, match="--add goes with --keep ARCHIVE"):
        main([str(parts[0]), "--add"])
    for part in parts:
        main([str(part), "--keep", str(joined), "--add"])
        main([str(part), "--keep", str(joined), "--add"])
    for name in ("archive.json", "runs.jsonl", "curves.csv", "report.csv"):
        assert (joined / name).read_bytes() == once[name], name


def test_an_archive_replaces_an_archive_alone(sweep: Path, archive: Path) -> None:
    (archive / "runs.jsonl").write_text((archive / "runs.jsonl").read_text().split("\n")[0] + "\n")
    main([str(sweep), "--keep", str(archive)])
    assert len(Archive(archive).runs) == 3, "an archive of some of the runs makes room"
    assert not list(sweep.parent.glob(".kept*"))
    for foreign in ("best.ckpt", "thesis.tex", "report.pdf", "translations/mine.txt"):
        (archive / foreign).touch()
        with pytest.raises(UserError, match=rf"no report has kept there \({foreign}\); give --keep another folder"):
            main([str(sweep), "--keep", str(archive)])
        (archive / foreign).unlink()
    before = {name: (archive / name).read_bytes() for name in files_in(archive)}
    fewer = sweep.parent / "fewer"
    shutil.copytree(sweep, fewer)
    shutil.rmtree(fewer / "B1-00000002")
    with pytest.raises(UserError, match=r"kept holds a run that .*fewer does not have \(B1-00000002\); keep it"):
        main([str(fewer), "--keep", str(archive)])
    assert {name: (archive / name).read_bytes() for name in files_in(archive)} == before
    project = sweep.parent / "project"
    shutil.copytree(sweep / "base-00000001", project)
    with pytest.raises(UserError, match=r"no report has kept there \(config.yaml\)"):
        main([str(sweep), "--keep", str(project)])
    assert (project / "config.yaml").exists(), "a project that is not ours"
    (project / ".kept").touch()
    with pytest.raises(UserError, match=r"project was kept by a version of triptych before 0\.2\.0.*; delete it"):
        main([str(sweep), "--keep", str(project)])
    for place in (sweep / "kept", sweep.parent, sweep):
        with pytest.raises(UserError, match="give --keep a folder beside it"):
            main([str(sweep), "--keep", str(place)])


def test_an_archive_takes_another_seed(sweep: Path, archive: Path) -> None:
    add_arm(sweep, 7, "base", seed=2, lines=spoilt(0.05, 2), sources=SOURCES)
    main([str(sweep), "--keep", str(archive)])
    assert "over 2 seeds" in (archive / "report.md").read_text()
    assert len(rows_of(archive)[0].finished) == 2


def test_a_run_alone_is_kept_again(sweep: Path) -> None:
    run = folder_of(rows_of(sweep)[0].runs[0])
    home = sweep.parent / "kept"
    for _ in range(2):
        main([str(run), "--keep", str(home)])
    assert [run.id for run in find_runs(home)] == ["base-00000001"]


def test_other_text_under_one_name_is_not_kept(tmp_path: Path) -> None:
    write_translations(make_run(tmp_path / "runs", "a"), REFERENCES, REFERENCES)
    other = make_run(tmp_path / "runs", "b", lines=spoilt(0.1))
    for run in (tmp_path / "runs" / "a", other):
        change(run, "test", "toy", to=json.loads((other / "result.json").read_text())["test"]["toy"])
    shutil.copy(other / "translations" / "toy.txt", tmp_path / "runs" / "a" / "translations" / "toy.txt")
    main([str(tmp_path / "runs"), "--keep", str(tmp_path / "kept")])
    (other / "translations" / "toy.src.txt").write_text("one\n" * 30)
    (tmp_path / "runs" / "a" / "translations" / "toy.src.txt").write_text("two\n" * 30)
    with pytest.raises(UserError, match="a and b translated different text as the test set toy"):
        main([str(tmp_path / "runs"), "--keep", str(tmp_path / "kept")])


@pytest.mark.parametrize(
    ("key", "to", "words"),
    [
        ("bleu", 42.0, r"test\.toy\.bleu is 42, and its translations score "),
        ("text", "0123", r"test\.toy\.text is 0123, and its sources and references are "),
    ],
)
def test_a_changed_result_is_found(sweep: Path, key: str, to: object, words: str) -> None:
    home = sweep.parent / "kept"
    main([str(sweep / "base-00000001"), "--keep", str(home)])
    change_archived(home, "result", "test", "toy", key, to=to)
    with pytest.raises(UserError, match=rf"kept, run base-00000001, has been tampered with: .*{words}.*restore it"):
        main([str(home)])


def test_a_changed_seed_is_found(archive: Path) -> None:
    change_archived(archive, "result", "seed", to=2)
    with pytest.raises(UserError, match=r"base-00000001, has been tampered with: its line has seed 1, and its resul"):
        main([str(archive)])
    change_archived(archive, "seed", to=2)
    with pytest.raises(UserError, match="tampered with: its result has seed 2, and its config 1; restore it"):
        main([str(archive), "--unequal"])


@pytest.mark.parametrize("what", ["translation", "missing", "line", "reference", "source"])
def test_changed_text_is_found(archive: Path, what: str) -> None:
    sentences = read_sentences(archive)
    first: dict[str, Any] = sentences[0]
    words = r"and its translations score "
    if what == "translation":
        first["translations"]["B1-00000001"] = REFERENCES[0]
    elif what == "missing":
        del first["translations"]["B1-00000001"]
        words = r"translations/toy\.jsonl\.gz has 29 lines for 30 references"
    elif what == "line":
        del sentences[0]
        words = r"test\.toy\.text is "
    else:
        first[what] = "Something else."
        words = r"test\.toy\.text is .*, and its sources and references are "
    write_sentences(archive, sentences)
    with pytest.raises(UserError, match=rf"kept, run B?.*, has been tampered with: .*{words}"):
        main([str(archive)])


def test_scores_of_sentences_have_room(archive: Path) -> None:
    sentences = read_sentences(archive)
    for line in sentences:
        line["scores"] = {"comet": dict.fromkeys(line["translations"], 0.5)}
    write_sentences(archive, sentences)
    main([str(archive)])


def test_log_likelihoods_of_sentences_are_kept(sweep: Path) -> None:
    nats = [round(1 + i / 7, 4) for i in range(30)]
    add_arm(sweep, 7, "A3", lines=spoilt(0.2), sources=SOURCES, nats=nats)
    home = sweep.parent / "kept"
    main([str(sweep), "--keep", str(home)])
    assert read_sentences(home)[3]["scores"] == {"nats": {"A3-00000001": nats[3]}}
    stored = {run.id: run.text("toy") for run in find_runs(home)}
    assert stored["A3-00000001"].scores == {"nats": nats}  # type: ignore[union-attr]
    assert stored["base-00000001"].scores == {}  # type: ignore[union-attr]
    assert {run.id: run.text("toy") for run in find_runs(sweep)} == stored
    again = home.with_name("again")
    main([str(home), "--keep", str(again)])
    assert read_sentences(again) == read_sentences(home)


def test_changed_curves_are_found(archive: Path) -> None:
    """They decide what is said of convergence."""
    path = archive / "curves.csv"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    main([str(archive)])
    path.write_text(path.read_text().replace("12.5", "13.5"))
    with pytest.raises(UserError, match=r"curves\.csv has changed since it was written; restore it"):
        main([str(archive)])


def test_an_archive_is_written_where_a_link_leads(sweep: Path) -> None:
    place, link = sweep.parent / "place", sweep.parent / "link"
    place.mkdir()
    link.symlink_to(place)
    for _ in range(2):
        main([str(sweep), "--keep", str(link)])
        assert link.is_symlink()
        assert (place / "archive.json").is_file()
    assert {path.name for path in sweep.parent.iterdir()} == {sweep.name, "place", "link"}


def test_changed_log_likelihoods_are_found(sweep: Path) -> None:
    add_arm(sweep, 7, "A3", lines=spoilt(0.2), sources=SOURCES, nats=[2.5] * 30)
    home = sweep.parent / "kept"
    main([str(sweep), "--keep", str(home)])
    for change_it, words in (
        (lambda scores: scores.update({"A3-00000001": 2.6}), r"nats_per_sentence is 2\.5, and the log-likelihoods of"),
        (lambda scores: scores.pop("A3-00000001"), "toy has 29 log-likelihoods for 30 references"),
    ):
        sentences = read_sentences(home)
        change_it(sentences[0]["scores"]["nats"])
        write_sentences(home, sentences)
        with pytest.raises(UserError, match=rf"run A3-00000001, has been tampered with: .*{words}"):
            main([str(home)])
    sentences[0]["scores"] = {"nats": {"A3-00000001": "many"}}
    write_sentences(home, sentences)
    with pytest.raises(UserError, match=r"toy\.jsonl\.gz cannot be read \(.*many.*\); restore it"):
        main([str(home)])


def test_damaged_archives_are_refused(archive: Path) -> None:
    packed = archive / "translations" / "toy.jsonl.gz"
    whole = {path: path.read_bytes() for path in (packed, archive / "runs.jsonl", archive / "archive.json")}
    header = json.loads(whole[archive / "archive.json"])
    damages = [
        (packed, b"\x1f\x8b", r"toy\.jsonl\.gz cannot be read"),
        (packed, gzip.compress(b"[]\n"), r"toy\.jsonl\.gz cannot be read"),
        (packed, gzip.compress(b"\xff\n"), r"toy\.jsonl\.gz cannot be read"),
        (archive / "runs.jsonl", b'{"run": ', r"line 1 of .*runs\.jsonl cannot be read"),
        (archive / "runs.jsonl", b'{"run": "x"}', r"line 1 of .*runs\.jsonl cannot be read"),
        (archive / "runs.jsonl", whole[archive / "runs.jsonl"] * 2, "line 4 of .* has the name of an earlier run"),
        (archive / "archive.json", b"{}", r"archive\.json cannot be read"),
        (archive / "archive.json", json.dumps(header | {"arms": [{}]}).encode(), "has a damaged arm"),
    ]
    for path, content, words in damages:
        path.write_bytes(content)
        with pytest.raises(UserError, match=rf"{words}.*restore it from version control, or delete it and keep"):
            main([str(archive)])
        path.write_bytes(whole[path])
    packed.unlink()
    with pytest.raises(UserError, match=r"kept has no translations/toy\.jsonl\.gz, which its .* lists; restore it"):
        main([str(archive)])


def test_an_archive_of_an_unknown_format_names_its_version(archive: Path) -> None:
    header = json.loads((archive / "archive.json").read_text())
    (archive / "archive.json").write_text(json.dumps(header | {"format": 2, "version": "0.9.0"}))
    with pytest.raises(UserError, match=r"by triptych 0\.9\.0 in format 2, .*; report it with triptych 0\.9\.0"):
        main([str(archive)])


ARCHIVES = sorted(path.parent for path in (ROOT / "experiments").glob("*/results/*/archive.json"))


FIVE_SEEDS = ("concepts", "embeddings", "hybrids", "positions", "regularization", "schedule", "toy_zero_shot")
SEEDS = {
    ("architectures", "multi30k"): 3,
    ("architectures", "multi30k_converged"): 3,
    ("architectures", "multi30k_converged_de"): 2,
    ("architectures", "multi30k_converged_dropout"): 3,
    ("lm4mt_loss", "multi30k"): 3,
    ("rnn_attention", "multi30k"): 3,
    ("bottleneck", "multi30k_converged"): 3,
    ("fair", "multi30k_converged"): 3,
    **{(name, "toy"): 5 for name in FIVE_SEEDS},
}
"""Seeds of each arm, where they are several."""


def test_committed_results_are_few_files() -> None:
    committed = [path for path in (ROOT / "experiments").rglob("*") if path.is_file()]
    committed = [path for path in committed if path.name not in ("report.html", "report.tex")]
    assert len(ARCHIVES) == 28
    assert len(committed) < 260
    assert sum(path.stat().st_size for path in committed) < 20e6


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.parent.parent.name)
def test_committed_results_can_be_read(archive: Path) -> None:
    runs, arms = Archive(archive).runs, Archive(archive).arms
    if archive.name.startswith("anchor_"):  # single trainings of the study tuning
        assert not arms
    else:
        assert {arm.run for arm in arms} == {run.id for run in runs}
    assert not [run.id for run in runs if set("=,") & set(run.id)]
    seeds = SEEDS.get((archive.parent.parent.name, archive.name), 1)
    assert {len(row.finished) for row in rows_of(archive)} == {seeds}
    for run in runs:
        for test_set, scores in run.tests.items():
            text = run.text(test_set)
            assert text is not None
            assert len(text.translations) == scores["sentences"]
            assert text.fingerprint == scores["text"]
