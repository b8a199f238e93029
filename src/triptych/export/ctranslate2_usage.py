"""What a CTranslate2 folder has beside the model: a script that translates with it, and a model card."""

from __future__ import annotations

from pathlib import Path

from triptych.contract.vocabulary import BOS, EOS, PAD, SIDES, UNK
from triptych.data.tokenizer import WORD
from triptych.decoding.translator import Translator
from triptych.export.ctranslate2 import SCRIPT
from triptych.export.model_card import model_card
from triptych.runs.checkpoints import scored_checkpoint
from triptych.runs.run import Run

_SCRIPT = '''\
"""Translate sentences: python translate.py "A sentence." "Another one."

Needs ctranslate2 and sentencepiece.
"""

import sys
from pathlib import Path

import ctranslate2
import sentencepiece

FOLDER = Path(__file__).parent
sentences = [one for one in sys.argv[1:] if one.strip()]
if not sentences:
    sys.exit(__doc__)
try:
    "".join(sentences).encode()
except UnicodeEncodeError:
    sys.exit("A sentence is no valid UTF-8; mend it.")
src = sentencepiece.SentencePieceProcessor(str(FOLDER / "{src}.model"))
tgt = sentencepiece.SentencePieceProcessor(str(FOLDER / "{tgt}.model"))
model = ctranslate2.{program}(str(FOLDER))
pieces = src.encode(sentences, out_type=str)
longest = int({ratio} * (1 + max(map(len, pieces)))) + {extra}
{call}
'''
_TRANSLATOR = """\
found = model.translate_batch(
    pieces,
    beam_size={beam_size},
    min_decoding_length={min_length},
    max_decoding_length=longest,
    suppress_sequences={never},
)
for one in found:
    print(tgt.decode(one.hypotheses[0]))"""
_GENERATOR = """\
found = model.generate_batch(
    [[*{before}, *one, *{after}] for one in pieces],
    beam_size={beam_size},
    min_length={min_length},
    max_length=longest,
    suppress_sequences={never},
    include_prompt_in_result=False,
)
for one in found:
    print(tgt.decode(one.sequences[0]))"""


def write_usage(run: Run, folder: Path, precision: str) -> None:
    """Write the script and the card.

    A tokenizer of words, which only triptych splits, gets no script, and a run without result.json no card.
    """
    usage = None
    if run.tokenizer.algorithm != WORD:
        (folder / SCRIPT).write_text(script(run.translator), encoding="utf-8")
        usage = "sh", f'pip install ctranslate2 sentencepiece\npython {SCRIPT} "A sentence."\n'
    if not run.files.result.exists():
        return
    scored = run.checkpoint == scored_checkpoint(run.files)
    result = run.result if scored else {**run.result, "test": {}}  # its scores are those of other weights
    card = model_card(result, run.checkpoint, precision, library="ctranslate2", usage=usage)
    (folder / "README.md").write_text(card, encoding="utf-8")


def script(translator: Translator) -> str:
    """Return Python code that translates its arguments with the folder it lies in, by the translator's search.

    Its length penalty is CTranslate2's: the log-probability is divided by the length.
    """
    tokenizer, search, prompt = translator.tokenizer, translator.search, translator.model.ctranslate2().prompt
    values: dict[str, object] = {
        "beam_size": search.beam_size,
        "min_length": search.min_length,
        "never": [[piece] for piece in tokenizer.pieces([PAD, BOS], "tgt")],
    }
    if prompt is not None:
        pieces = tokenizer.pieces(prompt([UNK, EOS]), "tgt")
        source = pieces.index(tokenizer.pieces([UNK], "tgt")[0])
        values |= {"before": pieces[:source], "after": pieces[source + 1 :]}
    program, call = ("Translator", _TRANSLATOR) if prompt is None else ("Generator", _GENERATOR)
    src, tgt = ("joint", "joint") if tokenizer.joint else SIDES
    limits = {"ratio": search.max_length_ratio, "extra": search.max_length_extra}
    return _SCRIPT.format(src=src, tgt=tgt, program=program, call=call.format(**values), **limits)
