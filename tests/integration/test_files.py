"""``triptych score`` and ``triptych evaluate`` on files: the figures of a run's own splits, and of sacreBLEU."""

from __future__ import annotations

import gzip
import json
import os
import threading
from pathlib import Path

import pytest
import sacrebleu
from conftest import triptych as command_line

import triptych

RUN = ["run=runs/tiny", "device=cpu"]


@pytest.fixture
def test_set(tiny_run: Path, tmp_path: Path) -> dict[str, Path]:
    """The run's test set and its translations, as files elsewhere."""
    stored = tiny_run / "runs" / "tiny" / "translations"
    files = {"talk.en": "test.src.txt", "talk.fr": "test.ref.txt", "system.fr": "test.txt"}
    for name, original in files.items():
        (tmp_path / name).write_bytes((stored / original).read_bytes())
    return {name: tmp_path / name for name in files}


def test_the_likelihood_of_a_file_is_that_of_its_lines(tiny_run: Path, test_set: dict[str, Path]) -> None:
    source, reference = test_set["talk.en"], test_set["talk.fr"]
    files = [f"input={source}", f"reference={reference}"]
    done = command_line("score", *RUN, *files, cwd=tiny_run)
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    lines = [file.read_text().splitlines() for file in (source, reference)]
    run = triptych.load(tiny_run / "runs" / "tiny")
    expected = run.score(*lines)
    assert [row[0] for row in rows] == [str(number) for number in range(1, 7)]
    assert [float(row[1]) for row in rows] == pytest.approx(expected, abs=1e-3)
    assert [row[2] for row in rows] == lines[1]
    words = sum(len(line.split()) for line in lines[1])
    assert f"6 references, checkpoint best: {-sum(expected) / 6:.3f} nats a sentence" in done.stderr
    scores = triptych.score(run, input=source, reference=reference)
    assert scores["nats_per_word"] == pytest.approx(-sum(expected) / words, abs=1e-4)
    assert scores["nats_per_word"] == run.result["test"]["test"]["nats_per_word"]
    output = source.parent / "scores.tsv"
    silent = command_line("score", *RUN, *files, f"output={output}", cwd=tiny_run)
    assert (silent.stdout, output.read_text()) == ("", done.stdout)


def test_files_score_as_the_split_that_they_are(tiny_run: Path, test_set: dict[str, Path]) -> None:
    files = {"input": test_set["talk.en"], "reference": test_set["talk.fr"]}
    run = triptych.Run(tiny_run / "runs" / "tiny")
    before = sorted(tiny_run.rglob("*"))
    scores = triptych.evaluate(run, **files)
    assert {**scores, "seconds": 0} == {**run.result["test"]["test"], "seconds": 0}
    given = [f"{key}={path}" for key, path in files.items()]
    kept = test_set["talk.en"].parent / "kept"
    done = command_line("evaluate", *RUN, *given, f"output={kept}", cwd=tiny_run)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("talk: 6 sentences, checkpoint best, beam 4, length penalty 0.6\n")
    assert f"BLEU {scores['bleu']:.2f}  nrefs:1|" in done.stdout
    assert (kept / "talk.txt").read_text() == test_set["system.fr"].read_text()
    assert json.loads((kept / "talk.json").read_text())["chrf"] == scores["chrf"]
    assert sorted(tiny_run.rglob("*")) == before, "nothing is kept in the run's folder"


def test_another_systems_output_gets_the_same_scores_without_a_model(
    tiny_run: Path, test_set: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triptych.Run, "translator", property(lambda self: pytest.fail("a model was loaded")))
    system, reference = test_set["system.fr"], test_set["talk.fr"]
    scores = triptych.evaluate(hypothesis=system, reference=reference)
    stored = triptych.Run(tiny_run / "runs" / "tiny").result["test"]["test"]
    assert {key: stored[key] for key in scores} == scores
    run = triptych.Run(tiny_run / "runs" / "tiny", device="auto")
    assert triptych.evaluate(run, hypothesis=system, reference=reference) == scores, "its device is no mistake"
    lines = [file.read_text().splitlines() for file in (system, reference)]
    assert scores["bleu"] == sacrebleu.corpus_bleu(lines[0], [lines[1]]).score
    done = command_line("evaluate", f"hypothesis={system}", f"reference={reference}", "metric=[ter]", cwd=tiny_run)
    assert f"TER {stored['ter']:.2f}  {stored['ter_signature']}" in done.stdout
    moses = ["metric=[bleu_lc_norm_tok]", f"hypothesis={system}", f"reference={reference}"]
    assert "language=null" in command_line("evaluate", *moses, cwd=tiny_run).stderr
    assert "lang:fr" in command_line("evaluate", *moses, "tgt=fr", cwd=tiny_run).stdout
    assert "lang:fr" in command_line("evaluate", *moses, "run=runs/tiny", cwd=tiny_run).stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evaluate", *RUN], "split=… must be given, a split of the run's data"),
        (
            ["evaluate", "hypothesis=system.fr", "split=test"],
            "split=test and hypothesis=system.fr are two things to score",
        ),
        (["evaluate", *RUN, "split=test", "output=kept"], "output=kept goes with input=FILE"),
        (["evaluate", *RUN, "input=talk.en"], "reference=… must be given"),
        (["evaluate", "input=talk.en", "reference=talk.fr"], "run=… must be given"),
        (["evaluate", "hypothesis=none.fr", "reference=talk.fr"], "hypothesis=none.fr: there is no such file"),
        (["evaluate", "hypothesis=system.fr", "reference=short.fr"], "system.fr has 6 lines and short.fr has 1"),
        (["evaluate", "hypothesis=empty.fr", "reference=empty.fr"], "have no lines"),
        (["evaluate", "hypothesis=system.fr", "reference=talk.fr", "output=."], "output=. is the folder of"),
        (
            ["evaluate", "hypothesis=system.fr", "reference=talk.fr", "metric=[bleu,comet]"],
            "metric=comet reads the sources too; add input=FILE, or leave comet out of metric.",
        ),
        (
            ["evaluate", "hypothesis=system.fr", "reference=talk.fr", "search.beam_size=8"],
            "search.beam_size=8 has no effect here: hypothesis=FILE is scored as it is",
        ),
        (["evaluate", *RUN, "split=nosuch"], "the run's data has train, validation, test, test_long, suites."),
        (["score", *RUN, "input=talk.en", "reference=short.fr"], "talk.en has 6 lines and short.fr has 1"),
        (["score", *RUN, "input=talk.en"], "reference=… must be given"),
        (["score", *RUN, "input=talk.en", "reference=talk.fr", "tgt=de"], "tgt=de is not a target language"),
    ],
)
def test_mistakes_are_named(
    arguments: list[str], said: str, tiny_run: Path, test_set: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "short.fr").write_text("un\n")
    (tmp_path / "empty.fr").touch()
    given = [one.replace("run=runs/tiny", f"run={tiny_run / 'runs' / 'tiny'}") for one in arguments]
    done = command_line(*given, cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert said in done.stderr


@pytest.mark.parametrize("key", ["input", "reference"])
def test_no_output_replaces_what_is_read(key: str, tiny_run: Path, test_set: dict[str, Path]) -> None:
    """It destroyed the text."""
    files = {"input": test_set["talk.en"], "reference": test_set["talk.fr"]}
    before = files[key].read_bytes()
    given = [f"{name}={path}" for name, path in files.items()]
    done = command_line("score", *RUN, *given, f"output={files[key]}", cwd=tiny_run)
    assert done.returncode == 2
    assert f"is {key}={files[key]} itself" in done.stderr
    assert files[key].read_bytes() == before


def test_no_evaluation_replaces_files_of_a_run(tiny_run: Path, test_set: dict[str, Path]) -> None:
    given = [f"hypothesis={test_set['talk.fr']}", f"reference={test_set['talk.fr']}"]
    done = command_line("evaluate", *given, "output=runs/tiny/translations", cwd=tiny_run)
    assert done.returncode == 2
    assert "output=runs/tiny/translations is in the folder of a run" in done.stderr


def test_an_output_named_gz_is_compressed_as_an_input_is(tiny_run: Path, test_set: dict[str, Path]) -> None:
    place, files = test_set["talk.en"].parent, [f"input={test_set['talk.en']}", f"reference={test_set['talk.fr']}"]
    for command, given in (("translate", files[:1]), ("score", files)):
        done = command_line(command, *RUN, *given, f"output={place / 'out.gz'}", cwd=tiny_run)
        assert done.returncode == 0, done.stderr
        shown = command_line(command, *RUN, *given, cwd=tiny_run).stdout
        assert gzip.decompress((place / "out.gz").read_bytes()).decode() == shown
        assert "out" not in str((place / "out.gz").read_bytes()[:20]), "no name, so the same text is the same bytes"


def test_a_link_and_a_pipe_are_written_to(tiny_run: Path, test_set: dict[str, Path]) -> None:
    """Both were replaced by a file."""
    place = test_set["talk.en"].parent
    (place / "link").symlink_to("behind")
    os.mkfifo(place / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((place / "pipe").read_text()))
    reader.start()
    for output in ("link", "pipe"):
        done = command_line("translate", *RUN, f"input={test_set['talk.en']}", f"output={place / output}", cwd=tiny_run)
        assert done.returncode == 0, done.stderr
    reader.join(timeout=30)
    assert (place / "link").is_symlink()
    assert (place / "pipe").is_fifo()
    assert read == [(place / "behind").read_text()]
    assert read[0].count("\n") == 6


def test_a_folder_is_known_by_any_path(tiny_run: Path, test_set: dict[str, Path]) -> None:
    """The text was replaced by its translation."""
    folder = test_set["talk.en"].parent
    (folder / "here").symlink_to(folder)
    given = [f"input={test_set['talk.en']}", f"reference={test_set['talk.fr']}"]
    done = command_line("evaluate", *RUN, *given, f"output={folder}/here", cwd=tiny_run)
    assert done.returncode == 2
    assert "is the folder of input=" in done.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_reference_may_be_a_pipe_beside_sources(test_set: dict[str, Path]) -> None:
    """It was read twice, and the second time nothing came."""
    lines, pipe = test_set["talk.fr"].read_bytes(), test_set["talk.fr"].with_name("pipe")
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_bytes, args=(lines,), daemon=True).start()
    files = {"hypothesis": test_set["system.fr"], "input": test_set["talk.en"]}
    scores = triptych.evaluate(**files, reference=pipe)
    assert scores == triptych.evaluate(**files, reference=test_set["talk.fr"])
    short = test_set["talk.en"].with_name("short.en")
    short.write_text("one\n")
    with pytest.raises(triptych.errors.UserError, match=r"short\.en has 1 lines and .*talk\.fr has 6; give as many"):
        triptych.evaluate(hypothesis=files["hypothesis"], input=short, reference=test_set["talk.fr"])
