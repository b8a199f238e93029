"""CTranslate2 computes what we compute, from a model that was exported to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from conftest import build_model

from triptych.data.directions import Directions
from triptych.data.tokenizer import SentencePieceTrainer, Tokenizer
from triptych.decoding.search import Search
from triptych.decoding.translator import Translator
from triptych.errors import UserError
from triptych.export.ctranslate2 import SCRIPT, compare_ctranslate2, to_ctranslate2
from triptych.export.ctranslate2_usage import script

pytest.importorskip("ctranslate2", reason="the extra 'export' is not installed")
LINES = ["a cat sees the dog", "the dogs sleep", "a bird"]
SEARCH = Search(
    beam_size=3, length_penalty=0.6, max_length_ratio=1.0, max_length_extra=5, min_length=0, stop="exact", n_best=1
)


class Text:
    languages = ("en", "fr")
    splits: ClassVar = {"train": (LINES * 20, ["un chat voit le chien", "les chiens dorment", "un oiseau"] * 20)}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    trainer = SentencePieceTrainer(algorithm="bpe", joint=True, byte_fallback=False, vocab_size=60, train_lines=None)
    return trainer.fit(Text(), tmp_path_factory.mktemp("cache"))


def translator(tokenizer: Tokenizer, *options: str, search: Search = SEARCH) -> Translator:
    model = build_model(*options, vocabulary=tokenizer.vocabulary).float()
    directions = Directions.of(None, "en", "fr", None)
    return Translator(model=model, tokenizer=tokenizer, directions=directions, search=search)


@pytest.mark.parametrize(
    "options",
    [
        "model=lm4mt",
        "model=lm4mt positions=learned max_length=64 norm_position=post language_tags=false",
        "",
        "positions=sinusoidal encoder_layers=2",
        "positions=sinusoidal_concatenated norm_position=post activation=gelu tying=decoder",
        "positions=learned max_length=64 norm=rms activation=swiglu bias=false tying=none",
        "positions=none decoder_layers=3",
        "positions=rope d_k=6 d_v=6",
    ],
)
def test_log_probabilities_are_ours(tokenizer: Tokenizer, options: str, tmp_path: Path) -> None:
    chosen = [option if option.startswith("model=") else f"model.{option}" for option in options.split()]
    trained = translator(tokenizer, *([] if "model=lm4mt" in chosen else ["model=transformer"]), *chosen)
    to_ctranslate2(trained, tmp_path / "model", "full")
    found = compare_ctranslate2(trained, tmp_path / "model", "full", LINES)
    assert found.sentences == 3
    assert found.difference < 1e-4


@pytest.mark.parametrize(
    ("options", "joint"),
    [
        (["model=transformer", "model.tying=none"], True),
        (["model=transformer", "model.tying=none"], False),
        (["model=lm4mt"], True),
        (["model=lm4mt", "model.language_tags=false"], True),
    ],
)
def test_the_script_translates(options: list[str], joint: bool, tmp_path: Path) -> None:
    """Greedily, where length penalties make no difference; the limit of length is that of our search."""
    trainer = SentencePieceTrainer(algorithm="bpe", joint=joint, byte_fallback=False, vocab_size=40, train_lines=None)
    greedy = Search(
        beam_size=1, length_penalty=0.0, max_length_ratio=1.5, max_length_extra=3, min_length=2, stop="exact", n_best=1
    )
    trained = translator(trainer.fit(Text(), tmp_path), *options, search=greedy)
    to_ctranslate2(trained, tmp_path / "model", "full")
    (tmp_path / "model" / SCRIPT).write_text(script(trained), encoding="utf-8")
    shown = subprocess.run([sys.executable, tmp_path / "model" / SCRIPT, LINES[0]], capture_output=True, check=True)
    assert shown.stdout.decode() == f"{trained.translate(LINES[:1])[0]}\n"
    without = subprocess.run([sys.executable, tmp_path / "model" / SCRIPT, " "], capture_output=True, check=False)
    assert without.returncode == 1
    assert b"python translate.py" in without.stderr


def test_a_model_that_computes_another_thing_is_noticed(tokenizer: Tokenizer, tmp_path: Path) -> None:
    trained = translator(tokenizer, "model=transformer")
    to_ctranslate2(trained, tmp_path / "model", "full")
    with torch.no_grad():
        trained.model.decoder.norm.weight.mul_(1.01)
    assert compare_ctranslate2(trained, tmp_path / "model", "full", LINES).difference > 1e-3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["model=rnn_luong"], "CTranslate2 cannot run RNN"),
        (["model=lm4mt", "model.source_attention=bidirectional"], "CTranslate2 has no prefix model"),
        (["model=transformer", "model.d_k=10", "model.d_v=6"], r"model\.d_k=10 and model\.d_v=6"),
        (["model=transformer", "model.norm=none"], r"no Transformer with model\.norm=none"),
    ],
)
def test_what_it_has_no_form_for_is_refused(
    tokenizer: Tokenizer, options: list[str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        to_ctranslate2(translator(tokenizer, *options), tmp_path / "model", "full")
    assert not (tmp_path / "model").exists()


def test_rounding_leaves_the_model_as_it_is(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """CTranslate2 quantises in place."""
    trained = translator(tokenizer, "model=transformer")
    before = {name: tensor.clone() for name, tensor in trained.model.state_dict().items()}
    to_ctranslate2(trained, tmp_path / "model", "int8")
    for name, tensor in trained.model.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    assert compare_ctranslate2(trained, tmp_path / "model", "int8", LINES).difference < 1.0
