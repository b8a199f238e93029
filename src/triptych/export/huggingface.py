"""Export a trained model to Hugging Face's library, and compare the results of the two programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from triptych.contract.vocabulary import BOS, EOS, PAD
from triptych.data.tokenizer import WORD
from triptych.errors import UserError
from triptych.export.comparison import Comparison
from triptych.export.model_card import model_card
from triptych.export.unpenalised import translate_unpenalised
from triptych.layers.marian import LIBRARY, huggingface_library
from triptych.runs.run import Run

_BATCH = 64
"""Sentences that it translates or scores at a time."""
USAGE = f"""\
from {LIBRARY} import pipeline

translate = pipeline("translation", "FOLDER")  # the path of this folder
print(translate("A sentence."))
"""


def to_huggingface(run: Run, folder: Path, precision: str) -> None:
    """Write a folder that Hugging Face's library loads: model, tokenizer, settings of its search, and a model card.

    Args:
        run: trained and scored.
        folder: the new folder.
        precision: of the weights, ``full`` (float32) or ``half`` (float16).

    Raises:
        UserError: the library has no form for the model or its tokenizer, or is not installed.
    """
    if run.translator.directions.several or run.tokenizer.algorithm == WORD:
        raise UserError(
            "format=huggingface is for runs of one direction whose tokenizer makes pieces; give format=safetensors."
        )
    model = run.model.huggingface().to(torch.float16 if precision == "half" else torch.float32)
    model.generation_config.num_beams = run.translator.search.beam_size
    model.generation_config.max_length = model.config.max_position_embeddings
    model.generation_config.suppress_tokens = [PAD, BOS]
    model.save_pretrained(str(folder))
    _save_tokenizer(run, folder)
    card = model_card(run.result, run.checkpoint, precision, library=LIBRARY, usage=("python", USAGE))
    (folder / "README.md").write_text(card, encoding="utf-8")


def _save_tokenizer(run: Run, folder: Path) -> None:
    tokenizer, (src, tgt) = run.tokenizer, run.translator.directions.tested
    with TemporaryDirectory(dir=folder) as given:
        tokenizer.save(Path(given))
        paths = {}
        for side in ("src", "tgt"):
            pieces = tokenizer.vocabulary_pieces(side)
            paths[side] = Path(given) / f"{side}.json"
            paths[side].write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}), encoding="utf-8")
        models = [Path(given) / f"{'joint' if tokenizer.joint else side}.model" for side in ("src", "tgt")]
        separate = {} if tokenizer.joint else {"target_vocab_file": str(paths["tgt"]), "separate_vocabs": True}
        made = huggingface_library().MarianTokenizer(
            source_spm=str(models[0]),
            target_spm=str(models[1]),
            vocab=str(paths["src"]),
            source_lang=src,
            target_lang=tgt,
            **separate,
        )
        made.save_pretrained(str(folder))


def compare_huggingface(run: Run, folder: Path, lines: Sequence[str]) -> Comparison:
    """Translate lines with both programs, each with its own tokenizer, and score our translations with both."""
    ours = translate_unpenalised(run.translator, lines)
    library = huggingface_library()
    model = library.AutoModelForSeq2SeqLM.from_pretrained(str(folder), dtype=torch.float32).eval()
    tokenizer = library.AutoTokenizer.from_pretrained(str(folder))
    filled = [line for line in lines if line.strip()]
    theirs: list[list[int]] = []
    nats: list[float] = []
    for start in range(0, len(filled), _BATCH):
        batch = tokenizer(filled[start : start + _BATCH], return_tensors="pt", padding=True)
        found = model.generate(
            **batch,
            length_penalty=0.0,
            early_stopping="never",
            max_new_tokens=ours.longest,
            min_new_tokens=ours.shortest,
        )
        theirs += [[i for i in row if i not in (PAD, BOS, EOS)] for row in found.tolist()]
        nats += _score(model, batch, ours.targets[start : start + _BATCH])

    def command(exported: Path) -> list[str]:
        statement = f"from {LIBRARY} import pipeline; print(pipeline('translation', {str(exported)!r})({filled[0]!r}))"
        return ["python", "-c", statement]

    return ours.compare(theirs, nats, command)


def _score(model: Any, batch: Any, targets: Sequence[Sequence[int]]) -> list[float]:
    """Return the log-probability of each target, with its ``</s>``."""
    longest = max(map(len, targets)) + 1
    expected = torch.tensor([[*ids, EOS, *[PAD] * (longest - 1 - len(ids))] for ids in targets])
    given = torch.cat([torch.full_like(expected[:, :1], BOS), expected[:, :-1]], dim=1)
    with torch.inference_mode():
        logits = model(**batch, decoder_input_ids=given).logits
    found = logits.log_softmax(-1).gather(-1, expected.unsqueeze(-1)).squeeze(-1)
    return found.masked_fill(expected == PAD, 0.0).sum(1).tolist()
