"""One model of several directions: a run is tested where it was not trained."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from conftest import write_three_languages

import triptych
from triptych.commands import cli
from triptych.errors import UserError
from triptych.export.ctranslate2 import to_ctranslate2

MODELS = ["rnn_luong", "transformer", "lm4mt"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_three_languages(tmp_path_factory.mktemp("files"))


def command(folder: Path, *arguments: str, stdin: str = "") -> int:
    """The command line, in this process."""
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setattr("sys.argv", ["triptych", *arguments])
        patched.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        return cli.main()


def data(files: Path, *changes: str) -> list[str]:
    tested = ["data.src=fr", "data.tgt=de", "data.directions=[fr-en,en-de]", "data.pivot=en"]
    text = ["data=text", f"data.dir={files}", f"cache={files / 'cache'}", "tokenizer=char"]
    return ["scale=smoke", *text, *tested, *changes]


@pytest.fixture(scope="module", params=MODELS)
def trained(request: pytest.FixtureRequest, files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp(request.param)
    budget = ["budget.steps=4", "validation.every=2", "log_every=1", "loss=decayed"]
    assert command(folder, "train", *data(files), f"model={request.param}", *budget) == 0
    (run,) = (folder / "runs").glob("[!.]*")
    return run


def test_a_run_translates_directly_and_through_the_pivot(trained: Path, files: Path) -> None:
    result = json.loads((trained / "result.json").read_text())
    assert list(result["test"]) == ["test", "test.via_en"]
    assert result["data"]["languages"] == ["fr", "en", "de"]
    run = triptych.load(trained)
    sources = (files / "test.fr").read_text().splitlines()
    through = run.translate(run.translate(sources, direction=("fr", "en")), direction=("en", "de"))
    for name, translations in (("test", run.translate(sources)), ("test.via_en", through)):
        assert (trained / "translations" / f"{name}.txt").read_text() == "".join(f"{x}\n" for x in translations)
        assert (trained / "translations" / f"{name}.ref.txt").read_text() == (files / "test.de").read_text()
        assert result["test"][name]["sentences"] == 5


def test_a_run_serves_every_direction(trained: Path, files: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    run = triptych.load(trained)
    pair = ["red cat"], ["rote Katze"]
    scores = [run.score(*pair, direction=direction)[0] for direction in (("en", "de"), ("fr", "de"), ("fr", "en"))]
    assert run.score(*pair)[0] == scores[1]
    assert len(set(scores)) == 3
    assert command(trained, "translate", f"run={trained}", "src=en", stdin="red cat\n\n") == 0
    out = capsysbinary.readouterr().out.decode()
    assert out == f"{run.translate(['red cat'], direction=('en', 'de'))[0]}\n\n"
    not_read = "src={} is not a source language of any trained direction; choose one of fr, en"
    for wrong, message in ((("it", "de"), not_read.format("it")), (("de", "en"), not_read.format("de"))):
        with pytest.raises(UserError, match=message):
            run.translate(["x"], direction=wrong)
    assert command(trained, "translate", f"run={trained}", "tgt=fr", stdin="x") == 2
    assert b"src and tgt are both fr" in capsysbinary.readouterr().err
    with pytest.raises(UserError, match="export a run of one direction"):
        to_ctranslate2(run.translator, trained / "exported", "full")


def test_evaluate_knows_every_split(trained: Path, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for split, scores in json.loads((trained / "result.json").read_text())["test"].items():
        assert command(trained, "evaluate", f"run={trained}", f"split={split}") == 0
        assert f"chrF {scores['chrf']:.2f}" in capsys.readouterr().out
    assert command(trained, "evaluate", f"run={trained}", "split=validation") == 0
    (made,) = (trained / "translations").glob("validation.*[0-9].txt")
    run = triptych.load(trained)
    apart = [
        run.translate((files / f"val.{src}").read_text().splitlines(), direction=(src, tgt))
        for src, tgt in (("fr", "en"), ("en", "de"))
    ]
    assert made.read_text() == "".join(f"{line}\n" for lines in apart for line in lines)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["data.directions=[fr-en,en-fr]"], ["data.tgt=de", "choose one of en, fr"]),
        (["data.directions=[fr-en,en-it,en-de]"], ["train.it", "exists in de, en, fr"]),
        (["data.directions=fr-en"], ["data.directions=fr-en must be a list"]),
        (["data.directions=null"], ["data.pivot=en needs"]),
        (["tokenizer.joint=false"], ["data.directions", "tokenizer.joint=true"]),
        (["data.pivot=3"], ["data.pivot=3 must be text or null"]),
    ],
)
def test_training_refuses(
    changes: list[str], words: list[str], files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(tmp_path, "train", *data(files, *changes)) == 2
    *twice, said = capsys.readouterr().err.splitlines()
    assert all("is given more than once" in line for line in twice)
    assert all(word in said for word in words), said
    assert not list((tmp_path / "runs").glob("[!.]*"))


@pytest.mark.slow
def test_positions_must_hold_the_longest_translation_of_a_translation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """41 source tokens give at most 46, of which at most 51 are made; the reference has 49."""
    files = write_three_languages(tmp_path)
    for language, word in (("fr", "chat"), ("de", "Katze")):
        (files / f"test.{language}").write_text(f"{' '.join([word] * 8)}\n", encoding="utf-8")
    positions = ["model=transformer", "model.positions=learned", "model.max_length=50", "budget.steps=1"]
    for pivot, status in (("en", 2), ("null", 0)):
        assert command(tmp_path, "train", *data(files, *positions, f"data.pivot={pivot}")) == status
    assert "model.max_length=50" in capsys.readouterr().err
