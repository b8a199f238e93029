"""The last line of each command names the next one, which runs as it stands; pipes do not get it."""

from __future__ import annotations

import os
import pty
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import triptych

from triptych.config.catalog import KINDS
from triptych.config.conf_folder import conf_dir
from triptych.config.next_step import after_export, after_forecast, after_list, after_translating, has_attention

SENTENCE = 'The cat sees the dog\'s "house", or $3 [not].'


def following(*arguments: str, cwd: Path, stdin: str = "") -> list[str]:
    """Run a command, and return the one that it names."""
    done = triptych(*arguments, cwd=cwd, stdin=stdin)
    assert done.returncode == 0, done.stderr
    assert "next: " not in done.stdout
    return shlex.split(done.stderr.splitlines()[-1].removeprefix("next: "))


def runs(words: list[str], cwd: Path) -> bool:
    program, *arguments = words
    return program == "triptych" and triptych(*arguments, cwd=cwd, stdin="A cat.\n").returncode == 0


@pytest.fixture
def home(tiny_run: Path, tmp_path: Path) -> Path:
    """A folder with the run, in a folder whose name needs quotes, and a text."""
    shutil.copytree(tiny_run / "runs" / "tiny", tmp_path / "my runs" / "tiny")
    (tmp_path / "talk.en").write_text(f"\n{SENTENCE}\n")
    (tmp_path / "talk.fr").write_text("\nLe chat voit l'école.\n")
    return tmp_path


def test_from_training_to_attention(home: Path) -> None:
    words = following("train", "scale=smoke", f"cache={home}", "name=ab", "budget.steps=1", cwd=home)
    assert words == ["triptych", "translate", "run=runs/ab"]
    assert runs(words, home)
    text = ["input=talk.en", "reference=talk.fr"]
    words = following("evaluate", "run=my runs/tiny", *text, cwd=home)
    assert words == ["triptych", "attend", "run=my runs/tiny", SENTENCE]
    assert runs(words, home)
    words = following("evaluate", "run=my runs/tiny", "split=test", cwd=home)
    assert words[:3] == ["triptych", "attend", "run=my runs/tiny"]
    words = following("evaluate", "hypothesis=talk.fr", "reference=talk.fr", cwd=home)
    assert words == ["triptych", "list", "metrics"]


def test_a_line_of_thousands_of_words_is_not_repeated() -> None:
    run = "demo:rnn_bahdanau"
    assert after_translating(run, "A cat. " * 3000) == ["triptych", "serve", f"run={run}"]
    assert after_translating(run, "A cat.") == ["triptych", "attend", f"run={run}", "A cat."]


def test_several_arms_are_trained_with_m() -> None:
    assert after_forecast(["model=rnn,lm4mt"], several=True) == ["triptych", "train", "-m", "model=rnn,lm4mt"]
    assert after_forecast(["--multirun", "seed=1,2"], several=True) == ["triptych", "train", "--multirun", "seed=1,2"]
    assert after_forecast(["seed=1"]) == ["triptych", "train", "seed=1"]
    study = ["experiment=fair", "scale=toy"]
    assert after_forecast(study, several=True) == ["triptych", "train", "-m", *study, "output=runs/fair"]
    assert after_forecast([*study, "output=here"]) == ["triptych", "train", *study, "output=here"]


@pytest.mark.slow
def test_sweeps_and_reports(home: Path) -> None:
    arguments = [
        "-m",
        "scale=smoke",
        "model=rnn_none,lm4mt",
        f"cache={home}",
        "budget.steps=1",
        "output=my été=1",
        "jobs=1",
    ]
    words = following("forecast", *arguments, cwd=home)
    assert words == ["triptych", "train", *arguments]
    words = following(*words[1:], cwd=home)
    assert words == ["triptych", "report", "my été=1"]
    words = following(*words[1:], cwd=home)
    assert words[:3] == ["triptych", "attend", "run=my été=1/lm4mt"], "the other one has no attention"
    assert runs(words, home)
    assert not has_attention(str(home / "my été=1" / "rnn_none"))
    (home / "own").mkdir()
    (home / "own" / "config.yaml").write_text("model: {decoder: gru}\n")
    assert has_attention(str(home / "own")), "an architecture of the user's own may have other keys"
    archive = home / "kept"
    assert triptych("report", "my été=1", "--keep", str(archive), cwd=home).returncode == 0
    for given, option in ([], "--methods"), (["--methods"], "--all"):
        assert following("report", str(archive), *given, cwd=home) == ["triptych", "report", str(archive), option]


@pytest.mark.slow
def test_filters_name_it_on_a_terminal_alone(home: Path) -> None:
    command = ["translate", "run=my runs/tiny", "input=talk.en"]
    assert "next" not in triptych(*command, cwd=home).stderr
    score = triptych("score", "run=my runs/tiny", "input=talk.en", "reference=talk.fr", cwd=home)
    assert "next" not in score.stderr
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "triptych", *command], cwd=home, stdout=subprocess.PIPE, stderr=theirs, check=True
    )
    os.close(theirs)
    said = os.read(ours, 4096).decode().splitlines()
    os.close(ours)
    assert len(done.stdout.splitlines()) == 2
    assert shlex.split(said[-1]) == ["next:", "triptych", "attend", "run=my runs/tiny", SENTENCE]


def test_an_export_is_loaded(home: Path) -> None:
    words = following("export", "run=my runs/tiny", "format=safetensors", "output=my copy", cwd=home)
    assert words == ["triptych", "translate", "run=my copy"]
    assert runs(words, home)
    assert after_export(home / "it's", lambda folder: ["python", str(folder)]) == ["python", str(home / "it's")]


@pytest.mark.slow
def test_each_list_leads_to_an_option(home: Path) -> None:
    assert following("list", cwd=home) == ["triptych", "list", "models"]
    wrong = []
    for group in KINDS.values():
        words = after_list(group, [conf_dir()])
        if words[1] == "train":
            wrong += [] if runs(words, home) else [words]
        else:
            assert words[1:] == ["forecast", "experiment=architectures"]
    assert not wrong
