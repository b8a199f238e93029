"""``tokenizer=own``: a SentencePiece model that somebody else has trained."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
import sentencepiece

from triptych.data import toy
from triptych.data.encoding import encode_blocks
from triptych.data.own_tokenizer import OwnSentencePiece
from triptych.data.pairs import Pairs
from triptych.data.tokenizer import Tokenizer
from triptych.errors import UserError

LINES = toy.splits(seed=0, train=200, validation=1, test=1, test_long=1)["train"]
OURS = {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3, "control_symbols": ["<en>", "<fr>"]}


class Text:
    languages = ("en", "fr")
    splits: ClassVar = {"train": LINES}


def spm_train(prefix: Path, **changes: object) -> str:
    """Train a model as ``spm_train`` does, and return its file."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*LINES[0], *LINES[1]]),
        model_prefix=str(prefix),
        minloglevel=2,
        **{"vocab_size": 400, "model_type": "bpe", "byte_fallback": True, **OURS, **changes},
    )
    return f"{prefix}.model"


def own(file: str, tgt: str | None = None) -> Tokenizer:
    return OwnSentencePiece(joint=tgt is None, model_file=file, tgt_model_file=tgt).fit(Text(), Path("unused"))


def test_pieces_are_those_of_the_model_and_come_back_from_the_run(tmp_path: Path) -> None:
    file = spm_train(tmp_path / "mine")
    tokenizer = own(file)
    theirs = sentencepiece.SentencePieceProcessor(model_file=file)
    assert tokenizer.encode(LINES[0][:20], "src") == theirs.encode(LINES[0][:20])
    assert tokenizer.name == "own-joint-400"
    tokenizer.save(tmp_path / "run")
    loaded = Tokenizer.load(tmp_path / "run")
    assert loaded.encode(LINES[1][:20], "tgt") == theirs.encode(LINES[1][:20])
    assert loaded.fingerprint == tokenizer.fingerprint


def test_pieces_that_cross_spaces_are_encoded_as_the_model_does(tmp_path: Path) -> None:
    """A cache of words would split them."""
    file = spm_train(tmp_path / "phrases", split_by_whitespace=False, byte_fallback=False, vocab_size=600)
    tokenizer = own(file)
    ((src, _),) = encode_blocks(tokenizer, Pairs(LINES[0], LINES[1]), 0)
    expected = sentencepiece.SentencePieceProcessor(model_file=file).encode(LINES[0])
    assert [row.tolist() for row in src.rows()] == expected
    assert any("▁" in piece[1:] for piece in tokenizer.vocabulary_pieces("src")), "some piece crosses a space"


def test_each_side_may_have_its_own(tmp_path: Path) -> None:
    files = [spm_train(tmp_path / name, vocab_size=size) for name, size in (("src", 400), ("tgt", 410))]
    vocabulary = own(*files).vocabulary
    assert (vocabulary.src_size, vocabulary.tgt_size, vocabulary.joint) == (400, 410, False)
    assert own(*files).fingerprint != own(*reversed(files)).fingerprint


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"pad_id": -1, "unk_id": 0, "bos_id": 1, "eos_id": 2}, r"pad -1, unk 0, bos 1, eos 2"),
        ({"control_symbols": []}, r"control symbols none .* spm_train --pad_id=0 .* --control_symbols=<en>,<fr>\."),
        ({"control_symbols": ["<fr>", "<en>"]}, r"control symbols <fr>, <en> after them"),
        ({"control_symbols": [], "user_defined_symbols": ["<en>", "<fr>"]}, r"control symbols none"),
    ],
)
def test_other_special_ids_are_refused(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    file = spm_train(tmp_path / "other", **changes)
    with pytest.raises(UserError, match=words):
        own(file)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"tokenizer\.model_file=nowhere is no file"):
        own("nowhere")
    (tmp_path / "text.model").write_text("no model")
    with pytest.raises(UserError, match="is no SentencePiece model"):
        own(str(tmp_path / "text.model"))
    with pytest.raises(UserError, match=r"tokenizer\.joint=false does not go with tokenizer\.tgt_model_file=None"):
        OwnSentencePiece(joint=False, model_file="a", tgt_model_file=None)
