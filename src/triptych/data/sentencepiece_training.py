"""Train a SentencePiece model in a process of its own, and explain what it refuses."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from triptych.contract.vocabulary import BOS, EOS, PAD, UNK
from triptych.data.sentencepiece_process import REFUSED
from triptych.errors import UserError, one_line

LONGEST_WORD = 65_535
"""Most characters of a word. SentencePiece aborts its process at a longer one."""
PROCESS = Path(__file__).with_name("sentencepiece_process.py")


def train_model(
    lines: Sequence[str], languages: Sequence[str], *, algorithm: str, vocab_size: int | None, byte_fallback: bool
) -> bytes:
    """Return a SentencePiece model, as ``data/tokenizer.py`` describes it.

    Args:
        lines: training text, without line feeds.
        languages: in the order of their tags.
        algorithm: ``bpe``, ``unigram``, ``char`` or ``word``; words are then what stands between spaces.
        vocab_size: pieces, special ones included; None for all characters.
        byte_fallback: whether bytes are pieces.

    Raises:
        UserError: the text cannot be trained on, or not with this vocabulary size.
    """
    _require_words(lines)
    options = {
        "model_type": algorithm,
        **({"use_all_vocab": True} if vocab_size is None else {"vocab_size": vocab_size}),
        "byte_fallback": byte_fallback,
        "pad_id": PAD,
        "unk_id": UNK,
        "bos_id": BOS,
        "eos_id": EOS,
        "control_symbols": [f"<{language}>" for language in languages],
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "character_coverage": 1.0,
        # SentencePiece silently skips longer lines, and rejects a value below 10.
        "max_sentence_length": max(10, 1 + max(len(line.encode()) for line in lines)),
        # Fixed, because the unigram model depends on how the text is divided among threads.
        "num_threads": 4,
        "minloglevel": 2,
    }
    given = "\n".join([json.dumps(options), *lines]).encode()
    done = subprocess.run([sys.executable, "-P", str(PROCESS)], input=given, capture_output=True, check=False)
    if done.returncode:
        raise _explain(done.returncode, done.stderr.decode(errors="replace"), vocab_size)
    return done.stdout


def _require_words(lines: Sequence[str]) -> None:
    """Raise ``UserError`` for a word that SentencePiece cannot take."""
    for line in lines:
        if len(line) > LONGEST_WORD and len(word := max(line.split(" "), key=len)) > LONGEST_WORD:
            raise UserError(
                f"data: the training text has a word of {len(word):,} characters, '{word[:20]}…'; the tokenizer takes "
                f"{LONGEST_WORD:,} at most: leave that line out, or put spaces into it."
            )


def _explain(status: int, message: str, vocab_size: int | None) -> Exception:
    """Return the error of a SentencePiece that has ended with a status and a message."""
    given = f"tokenizer.vocab_size={vocab_size}"
    if match := re.search(r"too high .* <= (\d+)", message):
        return UserError(f"{given} is more than the training text can fill; at most {match[1]} is allowed.")
    if match := re.search(r"required_chars\. \d+ vs (\d+)", message):
        return UserError(
            f"{given} has no room for every character of the training text; at least {match[1]} is needed."
        )
    if status == REFUSED:
        return RuntimeError(message)
    how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
    said = one_line(message.strip().splitlines()[-1]) if message.strip() else "perhaps memory was short"
    return UserError(f"tokenizer: SentencePiece {how} while it was trained ({said}); lower tokenizer.train_lines.")
