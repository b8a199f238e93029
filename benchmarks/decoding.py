"""Translate a text in turns, with beam size 4 and length penalty 0.6.

    python -m benchmarks.decoding full|bf16|ctranslate2 FOLDER TEXT

The decoder is ours in a precision, with the run of FOLDER, or CTranslate2 with an exported model. A step translates
every second line of TEXT, a file: those that the step before left out. Nothing is printed but what the other side
reads.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.paced import Pace
from triptych.data.tokenizer import Tokenizer
from triptych.decoding.search import Search

BATCH = 4096
"""Source tokens per batch of CTranslate2. Of 1,024 and 4,096 this was faster."""
SEARCH = Search(
    beam_size=4, length_penalty=0.6, max_length_ratio=1.5, max_length_extra=1, min_length=0, stop="first", n_best=1
)


def ours(folder: Path, precision: str) -> Callable[[list[str]], list[str]]:
    """Return our translator, with a run's last weights in a precision."""
    from triptych import load
    from triptych.kernels.cpu_memory import prepare_cpu_memory

    prepare_cpu_memory()
    translator = load(folder, "last", precision=precision).translator
    return lambda lines: translator.translate(lines, SEARCH)


def ctranslate2(folder: Path) -> Callable[[list[str]], list[str]]:
    """Return CTranslate2's translator in its fastest setting on a few cores.

    Each core translates a batch of its own; CTranslate2 sorts the sentences by length itself.
    """
    import ctranslate2

    tokenizer = Tokenizer.load(folder)
    ids = {piece: i for i, piece in enumerate(tokenizer.vocabulary_pieces("tgt"))}
    threads = torch.get_num_threads()
    translator = ctranslate2.Translator(str(folder), compute_type="float32", inter_threads=threads, intra_threads=1)

    def translate(lines: list[str]) -> list[str]:
        pieces = [tokenizer.pieces(ids, "src") for ids in tokenizer.encode(lines, "src")]
        longest = max(len(line) + 1 for line in pieces)
        found = translator.translate_batch(
            pieces,
            beam_size=SEARCH.beam_size,
            length_penalty=SEARCH.length_penalty,
            max_decoding_length=int(SEARCH.limit(torch.tensor(longest))),
            max_batch_size=BATCH,
            batch_type="tokens",
        )
        return tokenizer.decode([[ids[piece] for piece in one.hypotheses[0]] for one in found], "tgt")

    return translate


def main() -> None:
    decoder, folder, text = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    lines = text.read_text().splitlines()
    translate = ctranslate2(folder) if decoder == "ctranslate2" else ours(folder, decoder)
    pace = Pace(warmup=1)
    for half in itertools.cycle((lines[::2], lines[1::2])):
        translate(half)
        if not pace.step(sentences=len(half)):
            break


if __name__ == "__main__":
    main()
