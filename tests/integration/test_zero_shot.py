"""One model of several directions: the search starts from a tag, and a run is tested where it was not trained."""

from __future__ import annotations

import io
import itertools
import json
from pathlib import Path

import pytest
import torch
from conftest import build_model, write_three_languages

import triptych
from triptych.commands import cli
from triptych.contract.batch import Batch
from triptych.contract.model import TranslationModel
from triptych.contract.vocabulary import BOS, EOS, PAD, LanguageTags, Vocabulary
from triptych.decoding.batches import decode
from triptych.decoding.search import Search
from triptych.errors import UserError
from triptych.export.ctranslate2 import to_ctranslate2

FR, EN, DE = 4, 5, 6
"""Tags."""
MODELS = ["rnn_luong", "transformer", "lm4mt"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_three_languages(tmp_path_factory.mktemp("files"))


def make_search(**changes: object) -> Search:
    chosen = {"beam_size": 1, "length_penalty": 0.6, "max_length_ratio": 0.0, "max_length_extra": 5, "n_best": 1}
    return Search(**{**chosen, **changes})  # type: ignore[arg-type]


@torch.no_grad()
def greedy_loop(model: TranslationModel, source: list[int], tags: LanguageTags, limit: int) -> list[int]:
    """One sentence by the model's own steps, the first of which is given the tag."""
    state = model.start(torch.tensor([[*source, tags.src_end]]), torch.tensor([len(source) + 1]))
    tokens = [tags.tgt_begin]
    while len(tokens) <= limit and tokens[-1] != EOS:
        logits, state = model.step(torch.tensor(tokens[-1:]), state)
        logits[0, [PAD, BOS]] = -torch.inf
        tokens.append(int(logits[0].argmax()))
    return [token for token in tokens[1:] if token != EOS]


@pytest.mark.parametrize("name", [*MODELS, "lm4mt model.language_tags=false"])
def test_search_starts_from_the_tag(name: str) -> None:
    model = build_model(*f"model={name}".split())
    sources = [[8, 9, 10], [8, 9, 10], [11, 12], [8, 9, 10], [13]]
    tags = [LanguageTags(FR, EN), LanguageTags(FR, DE), LanguageTags(EN, DE), LanguageTags(EN, DE), LanguageTags()]
    found = decode(model, sources, make_search(), 100, "cpu", tags)
    expected = [greedy_loop(model, source, one, 5) for source, one in zip(sources, tags, strict=True)]
    assert [hypotheses[0].tokens for hypotheses in found] == expected
    assert len({hypotheses[0].log_probability for hypotheses in found}) == 5, "tags change what is likely"


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_a_wide_beam_equals_exhaustive_search_after_a_tag(name: str) -> None:
    model, limit = build_model(f"model={name}", vocabulary=Vocabulary(9, 9, True, 4, 5)), 3
    source, tags = [7, 8, 7], LanguageTags(FR, DE)
    words = [i for i in range(9) if i not in (PAD, BOS, EOS)]
    sequences = [list(one) for length in range(limit + 1) for one in itertools.product(words, repeat=length)]
    prediction = model(Batch.from_ids([source] * len(sequences), sequences, tags=[tags] * len(sequences)))
    logits = (prediction.hidden @ prediction.weight.T)[prediction.num_source :]
    likely = logits.log_softmax(1).gather(1, prediction.targets[prediction.num_source :, None])[:, 0]
    scores = []
    for sequence, tokens in zip(sequences, likely.split([len(one) + 1 for one in sequences]), strict=True):
        length = min(limit, len(sequence) + 1)  # </s> counted, for which a sequence at the limit has no room
        scores.append((float(tokens[:length].sum()) / ((5 + length) / 6) ** 0.6, sequence))
    wide = make_search(beam_size=300, max_length_extra=limit, n_best=4)
    found = decode(model, [source], wide, 100, "cpu", [tags])[0]
    best = sorted(scores, reverse=True)[:4]
    assert [hypothesis.tokens for hypothesis in found] == [sequence for _, sequence in best]
    assert [hypothesis.score for hypothesis in found] == pytest.approx([score for score, _ in best], rel=1e-4)


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
    unknown = "src=it is not a source language .*; choose one of fr, en"
    for wrong, message in ((("it", "de"), unknown), (("de", "en"), "src=de")):
        with pytest.raises(UserError, match=message):
            run.translate(["x"], direction=wrong)
    assert command(trained, "translate", f"run={trained}", "tgt=fr", stdin="x") == 2
    assert b"src and tgt are both fr" in capsysbinary.readouterr().err
    with pytest.raises(UserError, match="export a run of one direction"):
        to_ctranslate2(run, trained / "exported")


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
    said = capsys.readouterr().err
    assert len(said.strip().splitlines()) == 1
    assert all(word in said for word in words), said
    assert not list((tmp_path / "runs").glob("[!.]*"))


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
