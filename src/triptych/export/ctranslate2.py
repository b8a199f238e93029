"""Export a trained model to CTranslate2, and compare the results of the two programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from triptych.contract.exported import CTranslate2Model
from triptych.contract.vocabulary import BOS, EOS, PAD
from triptych.decoding.translator import Translator
from triptych.errors import UserError
from triptych.export.comparison import Comparison
from triptych.export.unpenalised import translate_unpenalised
from triptych.layers.ctranslate2 import require_ctranslate2

SCRIPT = "translate.py"
"""Name of the script that translates with an exported folder, if there is one (``ctranslate2_usage``)."""
QUANTIZATIONS = {"full": None, "half": "float16", "int8": "int8"}
"""What CTranslate2 calls the precisions of weights."""
COMPUTE_TYPES = {"full": "float32", "half": "float32", "int8": "int8"}
"""How it computes with them on a CPU."""
_BATCH = 64
"""Sentences that it translates or scores at a time."""


def to_ctranslate2(translator: Translator, folder: Path, precision: str) -> None:
    """Write the folder of a CTranslate2 model, with the SentencePiece models that it needs.

    Raises:
        UserError: CTranslate2 cannot run this architecture or is not installed, or the model has several directions.
    """
    if translator.directions.several:
        raise UserError(
            "CTranslate2 adds no language tags, which a run of data.directions needs; export a run of one direction."
        )
    exported, tokenizer = translator.model.ctranslate2(), translator.tokenizer
    spec: Any = exported.make_spec()
    if exported.prompt is None:
        spec.register_source_vocabulary(tokenizer.vocabulary_pieces("src"))
        spec.register_target_vocabulary(tokenizer.vocabulary_pieces("tgt"))
    else:
        spec.register_vocabulary(tokenizer.vocabulary_pieces("tgt"))
    spec.validate()
    spec.optimize(quantization=QUANTIZATIONS[precision])
    folder.mkdir()
    spec.save(str(folder))
    tokenizer.save(folder)


def compare_ctranslate2(translator: Translator, folder: Path, precision: str, lines: Sequence[str]) -> Comparison:
    """Translate lines with both programs, and score our translations with both."""
    ours = translate_unpenalised(translator, lines)
    exported = translator.model.ctranslate2()
    program = _EncoderDecoder if exported.prompt is None else _DecoderOnly
    theirs = program(translator, exported, folder, COMPUTE_TYPES[precision])
    has_script, sentence = (folder / SCRIPT).exists(), next(line for line in lines if line.strip())

    def command(exported: Path) -> list[str]:
        if has_script:
            return ["python", str(exported / SCRIPT), sentence]
        return ["python", "-c", f"import ctranslate2; print(ctranslate2.{program.CLASS}({str(exported)!r}))"]

    return ours.compare(
        theirs.translate(ours.sources, ours.shortest, ours.longest), theirs.score(ours.sources, ours.targets), command
    )


class _EncoderDecoder:
    """CTranslate2's ``Translator``, with our ids."""

    CLASS = "Translator"

    def __init__(self, translator: Translator, exported: CTranslate2Model, folder: Path, compute_type: str) -> None:
        self._tokenizer, self._search = translator.tokenizer, translator.search
        self._prompt = exported.prompt
        program = getattr(require_ctranslate2(), self.CLASS)
        self._program = program(str(folder), device="cpu", compute_type=compute_type)
        self._never = [[piece] for piece in self._tokenizer.pieces([PAD, BOS], "tgt")]

    def translate(self, sources: Sequence[Sequence[int]], shortest: int, longest: int) -> list[list[int]]:
        found = self._program.translate_batch(
            [self._tokenizer.pieces(ids, "src") for ids in sources],
            beam_size=self._search.beam_size,
            length_penalty=0,
            min_decoding_length=shortest,
            max_decoding_length=longest,
            suppress_sequences=self._never,
            max_batch_size=_BATCH,
        )
        return [self._ids(one.hypotheses[0]) for one in found]

    def score(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[float]:
        pieces = self._tokenizer.pieces
        found = self._program.score_batch(
            [pieces(ids, "src") for ids in sources],
            [pieces(ids, "tgt") for ids in targets],
            max_batch_size=_BATCH,
        )
        return [sum(one.log_probs) for one in found]

    def _ids(self, pieces: Sequence[str]) -> list[int]:
        return self._tokenizer.ids(pieces, "tgt")


class _DecoderOnly(_EncoderDecoder):
    """CTranslate2's ``Generator``, which gets the source as a prompt."""

    CLASS = "Generator"

    def translate(self, sources: Sequence[Sequence[int]], shortest: int, longest: int) -> list[list[int]]:
        found = self._program.generate_batch(
            self._prompts(sources),
            beam_size=self._search.beam_size,
            length_penalty=0,
            min_length=shortest,
            max_length=longest,
            suppress_sequences=self._never,
            include_prompt_in_result=False,
            max_batch_size=_BATCH,
        )
        return [self._ids(one.sequences[0]) for one in found]

    def score(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[float]:
        prompts = self._prompts(sources)
        ends = [self._tokenizer.pieces([*ids, EOS], "tgt") for ids in targets]
        found = self._program.score_batch(
            [prompt + end for prompt, end in zip(prompts, ends, strict=True)], max_batch_size=_BATCH
        )
        return [sum(one.log_probs[-len(end) :]) for one, end in zip(found, ends, strict=True)]

    def _prompts(self, sources: Sequence[Sequence[int]]) -> list[list[str]]:
        assert self._prompt is not None
        return [self._tokenizer.pieces(self._prompt([*ids, EOS]), "tgt") for ids in sources]
