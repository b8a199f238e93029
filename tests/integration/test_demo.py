"""The trained runs that come with the package translate, are small, and need no pickle."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from conftest import triptych
from hydra.utils import instantiate
from sacrebleu import corpus_bleu

from triptych.errors import UserError
from triptych.runs.demo import FOLDER, demo_examples, demo_names, locate_run
from triptych.runs.run import load


@pytest.mark.parametrize("name", demo_names())
def test_a_demo_run_translates_its_test_set(name: str) -> None:
    run = load(f"demo:{name}")
    sources, references = instantiate(run.config.data).splits["test"]
    assert {*demo_examples()} <= {*zip(sources, references, strict=True)}
    translations = run.translate(list(islice(sources, 100)))
    bleu = corpus_bleu(translations, [list(islice(references, 100))]).score
    assert bleu == pytest.approx(run.result["test"]["test"]["bleu"], abs=3)


def test_demo_runs_are_small_and_hold_no_pickle() -> None:
    assert demo_names() == ["lm4mt", "rnn_bahdanau", "transformer"]
    for name in demo_names():
        files = [path for path in (FOLDER / name).rglob("*") if path.is_file()]
        assert {path.suffix for path in files} == {".json", ".yaml", ".model", ".safetensors"}
        assert sum(path.stat().st_size for path in files) < 1.5e6


def test_the_command(tmp_path: Path) -> None:
    shown = triptych("demo", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("Le cheval gris revient à un château étrange.") == 4  # the reference, and three models
    page = (tmp_path / "attention.html").read_text(encoding="utf-8")
    assert all(f'"name":"{name}"' in page for name in demo_names())
    own = triptych("demo", "The grey horse sleeps.", cwd=tmp_path)
    assert "transformer   Le cheval gris dort." in own.stdout
    assert "know only the words of the built-in corpus" in " ".join(own.stdout.split())
    piped = triptych("translate", "run=demo:transformer", cwd=tmp_path, stdin="The grey horse sleeps.\n")
    assert piped.stdout == "Le cheval gris dort.\n"


def test_what_is_no_sentence_and_an_export_into_the_package_are_refused(tmp_path: Path) -> None:
    for arguments, said in (
        (["demo", "--beam"], "--beam is no option of demo"),
        (["export", "run=demo:lm4mt", "format=safetensors"], "output=… must be given"),
    ):
        refused = triptych(*arguments, cwd=tmp_path)
        assert (refused.returncode, list(tmp_path.iterdir())) == (2, [])
        assert said in refused.stderr


def test_an_unknown_demo_run_is_refused() -> None:
    with pytest.raises(UserError, match=r"choose one of demo:lm4mt, demo:rnn_bahdanau, demo:transformer"):
        locate_run("demo:gpt")
