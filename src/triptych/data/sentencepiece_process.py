"""Train a SentencePiece model: a program of its own, since SentencePiece may abort its process.

Standard input has the options of ``SentencePieceTrainer.train`` as a line of JSON, then the text. Standard output gets
the model. This file is run by its path and imports nothing of triptych, so that it starts at once.
"""

from __future__ import annotations

import io
import json
import sys

import sentencepiece

REFUSED = 64
"""Exit status where SentencePiece has said what is wrong, on standard error."""


def main() -> int:
    options, *lines = sys.stdin.buffer.read().split(b"\n")
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(line.decode() for line in lines), model_writer=model, **json.loads(options)
        )
    except RuntimeError as error:
        sys.stderr.write(str(error))
        return REFUSED
    sys.stdout.buffer.write(model.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main())
