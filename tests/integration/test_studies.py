"""Every study of conf/experiment runs at `scale=smoke`, and its report has a row for each of its arms."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, triptych

from triptych.config import schema
from triptych.config.composition import arms_of
from triptych.sweeps import arms as sweeps

STUDIES = sorted(path.stem for path in (ROOT / "conf" / "experiment").glob("*.yaml"))
QUICK = ("zero_shot",)
"""The smallest study; the README's is one of one direction."""
PUBLISHED = {
    "architectures": {"rnn_luong", "transformer", "lm4mt"},
    "decoding": {f"search.beam_size=4 search.length_penalty=0.6 checkpoint.average={n}" for n in (1, 5)},
    "fair": {"transformer", "rnn_luong_published", "lm4mt_published", "lm4mt_decayed_published"},
    "lm4mt_loss": {"encoder_decoder", "translation", "decayed"},
    "normalization": {"post", "post_without_warmup", "pre_without_warmup"},
    "rnn_attention": {"none", "bahdanau", "luong_dot", "luong_concat", "luong_input_feeding"},
    "positions": {"model.positions=sinusoidal", "model.positions=learned"},
    "regularization": {"vaswani", "label_smoothing"},
    "table3": {
        "base",
        "big",
        "E",
        *(f"{row}{i}" for row, n in {"A": 4, "B": 2, "C": 7, "D": 4}.items() for i in range(1, n + 1)),
    },
    "schedule": {"optimizer=noam", "optimizer=cosine"},
}
"""Arms of studies that published figures stand beside."""
SMALLER = {"toy_zero_shot": ["data.train=200"]}
"""Overrides of studies whose budget is not that of the scale."""
WORDS = {
    "en": ("a", "dog", "cat", "runs", "sleeps", "red", "blue", "house", "sees", "tree"),
    "fr": ("un", "chien", "chat", "court", "dort", "rouge", "bleu", "maison", "voit", "arbre"),
    "de": ("ein", "Hund", "Katze", "läuft", "schläft", "rot", "blau", "Haus", "sieht", "Baum"),
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def three_languages(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Overrides by which a study of three languages does without a download."""
    folder = tmp_path_factory.mktemp("text")
    for split, count in (("train", 300), ("val", 10), ("test", 10)):
        for language, words in WORDS.items():
            lines = [" ".join(words[i * (3 + j) % 10] for j in range(3 + i % 5)) for i in range(1, count + 1)]
            (folder / f"{split}.{language}").write_text("".join(f"{line}\n" for line in lines))
    return ["data=text", f"data.dir={folder}", "tokenizer.vocab_size=320"]


@pytest.mark.parametrize(
    "study", [pytest.param(study, marks=[] if study in QUICK else pytest.mark.slow) for study in STUDIES]
)
def test_a_study_and_its_report(study: str, cache: Path, three_languages: list[str], tmp_path: Path) -> None:
    text = three_languages if study == "zero_shot" else SMALLER.get(study, [])
    command = ["train", "-m", f"experiment={study}", "scale=smoke", f"cache={cache}", *text]
    done = triptych(*command, "output=runs", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    schema.register()
    sweep = arms_of("train", command[1:])
    assert sweep is not None
    arms = sweep[1]
    found = sweeps.read_arms(tmp_path / "runs")
    assert [arm.status for arm in found] == ["finished"] * len(arms)
    assert {arm.study for arm in found} == {study}
    reported = triptych("report", "runs", cwd=tmp_path)
    assert reported.returncode == 0, reported.stderr
    with (tmp_path / "runs" / "report.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["seeds"] == "1"]
    assert len(rows) == len(arms)
    assert "is not among these arms" not in (tmp_path / "runs" / "report.md").read_text()
    named = {row["arm"] for row in rows}
    assert PUBLISHED.get(study, set()) <= named, "published.csv calls its arms by other names"
    for form in ("md", "tex", "html"):
        assert (tmp_path / "runs" / f"report.{form}").stat().st_size


def test_every_study_has_its_page() -> None:
    for study in STUDIES:
        home = ROOT / "experiments" / study
        assert f"experiment={study}" in (home / "README.md").read_text()
        config = yaml.safe_load((ROOT / "conf" / "experiment" / f"{study}.yaml").read_text())
        if (home / "published.csv").exists():
            assert config["study"]["deviations"], f"{study} does not say how it departs from what was published"
            arms = {row["arm"] for row in csv.DictReader((home / "published.csv").read_text().splitlines())}
            assert PUBLISHED.get(study, set()) <= arms


def test_an_unknown_study(tmp_path: Path) -> None:
    done = triptych("train", "-m", "experiment=nothing", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "triptych: experiment=nothing is unknown; choose one of architectures, beam, bottleneck,"
    )
