"""`triptych attend` on trained runs: the page, what the terminal says, and mistakes."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from conftest import triptych

from triptych.runs.run import load

SMALL = ["scale=smoke", "cache=cache", "budget.steps=2", "validation.every=2", "log_every=1", "test=false"]
SENTENCE = "The old woman's cat sleeps."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, a and b."""
    folder = tmp_path_factory.mktemp("attend")
    for name, model in (("a", "transformer"), ("b", "rnn_bahdanau")):
        done = triptych("train", f"model={model}", f"name={name}", "data.train=200", *SMALL, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def test_a_page_and_the_next_command(folder: Path) -> None:
    done = triptych("attend", "run=runs/a", SENTENCE, cwd=folder)
    assert done.returncode == 0, done.stderr
    path, following = done.stdout.splitlines()[-1], done.stderr.splitlines()[-1]
    assert path == "attention: attention.html (open it in a browser)"
    assert json.dumps(SENTENCE) in (folder / "attention.html").read_text(encoding="utf-8")
    (words,) = re.findall(r"^next: triptych (.*)$", following)
    again = triptych(*shlex.split(words), cwd=folder)
    assert again.returncode == 0, again.stderr
    run = load(folder / "runs" / "a")
    (head,) = re.findall(r"ablate=(\S+)", words)
    ablated = run.attention(SENTENCE, ablate=head)
    assert ablated.whole is not None
    shown = f"{ablated.scores[0]:.2f} nats ({ablated.changes[0]:+.2f})".replace("-", "−")
    assert f"without {head}: {shown}" in again.stdout
    assert f"translates: {ablated.translations[0]}" in again.stdout
    assert (folder / "attention_without_1.html").exists()
    assert "output=attention_without_2.html" in again.stderr
    one_head = triptych("attend", "run=runs/b", SENTENCE, "ablate=cross.1.1", cwd=folder)
    assert (one_head.returncode, "next: " in one_head.stderr) == (0, False), "no head is left"


def test_several_runs_write_one_translation(folder: Path) -> None:
    reference = "Le chat dort, n'est-ce pas ?"
    done = triptych("attend", "run=[runs/a,runs/b]", f"reference={reference}", SENTENCE, "output=two.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert f"a: {reference}" in done.stdout
    assert shlex.split(done.stderr.splitlines()[-1])[:5] == [
        *("next:", "triptych", "attend", "run=runs/a", f"reference={reference}"),
    ]
    assert f"b: {reference}" in done.stdout
    page = (folder / "two.html").read_text(encoding="utf-8")
    assert page.count(f'"target":{json.dumps(reference)}') == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([SENTENCE], "run=… must be given"),
        (["run=runs/a"], "sentence=… must be given"),
        (["run=runs/a", " "], "the sentence is empty"),
        (["run=nowhere", SENTENCE], "run=nowhere is no run folder"),
        (
            ["run=runs/a", SENTENCE, "ablate=cross.9.1"],
            "ablate=cross.9.1 is no head or layer of a; give KIND",
        ),
        (["run=[runs/a,runs/b]", SENTENCE, "ablate=encoder.1"], "is no head or layer of b"),
        (["run=runs/a", SENTENCE, "tgt=xx"], "xx"),
        (["run=runs/a", SENTENCE, "output=/dev/null/page.html"], "/dev/null"),
        (["run=runs/a", SENTENCE, "references=x"], "references is no configuration key; did you mean reference?"),
    ],
    ids=lambda value: None if isinstance(value, list) else value[:20],
)
def test_mistakes_are_one_sentence(folder: Path, arguments: list[str], sentence: str) -> None:
    done = triptych("attend", *arguments, cwd=folder)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert sentence in done.stderr
