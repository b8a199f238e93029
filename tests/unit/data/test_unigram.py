"""The loss of predicting by frequency, against one that counts pieces one by one."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest

from triptych.contract.vocabulary import EOS
from triptych.data import piece_counts, unigram
from triptych.data.corpus import Corpus, Pairs
from triptych.data.store import prepare
from triptych.data.tokenizer import SentencePieceTrainer

TRAIN = Pairs(["a", "b", "c"], ["x y", "x", "y y y"])
VALIDATION = Pairs(["a", "b"], ["x y y", "z"])


@pytest.mark.parametrize("block", [2, 2**22])
def test_it_is_the_cross_entropy_of_the_targets(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piece_counts, "BLOCK", block)
    corpus = Corpus("letters", ("en", "fr"), {"train": TRAIN, "validation": VALIDATION}, [])
    trainer = SentencePieceTrainer(algorithm="char", joint=False, byte_fallback=False, train_lines=None)
    tokenizer = trainer.fit(corpus, tmp_path)
    stores, size = prepare(corpus, tokenizer, tmp_path, None, None), tokenizer.vocabulary.tgt_size
    known, predicted = (
        [token for ids in tokenizer.encode(pairs.tgt, "tgt") for token in (*ids, EOS)] for pairs in (TRAIN, VALIDATION)
    )
    counts = Counter(known)
    losses = [-math.log((counts[token] + 1) / (len(known) + size)) for token in predicted]
    found = unigram.unigram_loss(stores["train"], stores["validation"], size)
    assert found == pytest.approx(sum(losses) / len(losses))
