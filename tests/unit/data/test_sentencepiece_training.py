"""A text that SentencePiece cannot take ends in a sentence, and not in the end of the process."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path

import pytest
import sentencepiece

from triptych.data import sentencepiece_training
from triptych.data.sentencepiece_training import LONGEST_WORD, train_model
from triptych.errors import UserError

LINES = ["a b c", "tab\there", "return\rhere", "line\x85separator \u2028 é", "", "a" * 300]
BPE = {"algorithm": "bpe", "vocab_size": 300, "byte_fallback": True}


def test_the_model_is_that_of_this_process_byte_for_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokenizers in caches were trained in the process of the run."""
    given: list[bytes] = []
    real = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: given.append(k["input"]) or real(*a, **k))
    model = train_model(LINES, ["en", "fr"], **BPE)
    options, here = json.loads(given[0].partition(b"\n")[0]), io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(LINES), model_writer=here, **options)
    assert model == here.getvalue()
    assert sentencepiece.SentencePieceProcessor(model_proto=model).id_to_piece([4, 5]) == ["<en>", "<fr>"]


def test_a_word_that_sentencepiece_cannot_take_is_named() -> None:
    with pytest.raises(UserError, match=f"a word of {LONGEST_WORD + 1:,} characters, 'xxxx.*leave that line out"):
        train_model([*LINES, "y " + "x" * (LONGEST_WORD + 1)], ["en", "fr"], **BPE)


def test_an_abort_of_sentencepiece_ends_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "aborts.py"
    program.write_text("import os, sys; print('it failed', file=sys.stderr, flush=True); os.abort()")
    monkeypatch.setattr(sentencepiece_training, "PROCESS", program)
    with pytest.raises(UserError, match="SentencePiece was ended by SIGABRT while it was trained \\(it failed\\)"):
        train_model(LINES, ["en", "fr"], **BPE)
