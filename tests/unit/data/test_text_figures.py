"""Repeated sentences, unknown tokens and unused pieces, counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from triptych.data.corpus import Corpus, Pairs
from triptych.data.store import prepare
from triptych.data.text_figures import text_figures
from triptych.data.tokenizer import SentencePieceTrainer

TRAIN = Pairs(["ab", "ab", "ba"], ["xy", "y", "yx"])
SPLITS = {
    "train": TRAIN,
    "validation": Pairs(["ba", "bb"], ["x", "y"]),
    "test": Pairs(["ab", "ab", "zb"], ["x", "z", "y"]),
}


@pytest.mark.parametrize("joint", [True, False])
def test_they_are_counted(joint: bool, tmp_path: Path) -> None:
    corpus = Corpus("letters", ("en", "fr"), dict(SPLITS), [])
    trainer = SentencePieceTrainer(algorithm="char", joint=joint, byte_fallback=False, train_lines=None)
    tokenizer = trainer.fit(corpus, tmp_path)
    found = text_figures(corpus, tokenizer, prepare(corpus, tokenizer, tmp_path, None, None))
    assert found["sentences"] == {"validation": 2, "test": 3}
    assert found["repeated"] == {"validation": 1, "test": 2}
    # Each line begins with the piece of a space; z is unknown on both sides.
    assert found["unknown"] == pytest.approx({"train": 0.0, "validation": 0.0, "test": 2 / 15})
    assert found["unused"] == 0.0


def test_pieces_that_training_lacks_are_unused(tmp_path: Path) -> None:
    everything = Corpus("letters", ("en", "fr"), {**SPLITS, "train": Pairs(["abz"], ["xyz"])}, [])
    trainer = SentencePieceTrainer(algorithm="char", joint=True, byte_fallback=False, train_lines=None)
    tokenizer = trainer.fit(everything, tmp_path)
    corpus = Corpus("letters", ("en", "fr"), {**SPLITS, "train": Pairs(["a"], ["b"])}, [])
    found = text_figures(corpus, tokenizer, prepare(corpus, tokenizer, tmp_path, None, None))
    assert found["unused"] == 0.5, "of a space, a, b, x, y and z, the last three"
