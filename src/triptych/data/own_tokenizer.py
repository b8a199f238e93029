"""SentencePiece models that the user has trained: ``tokenizer=own tokenizer.model_file=FILE``."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import sentencepiece

from triptych.contract.vocabulary import BOS, EOS, PAD, UNK
from triptych.data.tokenizer import OWN, SRC_TAG, ParallelText, Tokenizer
from triptych.data.tokenizer_settings import TokenizerSettings
from triptych.errors import UserError

SPECIAL_IDS = {"pad": PAD, "unk": UNK, "bos": BOS, "eos": EOS}


class OwnSentencePiece:
    """Take the tokenizer from files instead of training it.

    Text is normalised and segmented as the models say. Where their rule is not ``identity``, decoding gives normalised
    text, while references stay as they are.

    Args:
        joint: whether both sides share the model of ``model_file``.
        model_file: a SentencePiece model; that of the source language if ``joint`` is false.
        tgt_model_file: model of the target language; None if ``joint`` is true.

    Raises:
        UserError: ``joint`` and ``tgt_model_file`` contradict each other.
    """

    def __init__(self, *, joint: bool, model_file: str, tgt_model_file: str | None) -> None:
        if joint == (tgt_model_file is not None):
            raise UserError(
                f"tokenizer.joint={str(joint).lower()} does not go with tokenizer.tgt_model_file={tgt_model_file}: "
                "give one file and joint=true, or two files and joint=false."
            )
        files = {"src": ("model_file", model_file), "tgt": ("tgt_model_file", tgt_model_file or model_file)}
        self._files = {"joint": files["src"]} if joint else files
        self.joint = joint

    def fit(self, corpus: ParallelText, cache: Path) -> Tokenizer:
        """Return the tokenizer of the files. ``cache`` is not used, since nothing is trained.

        Raises:
            UserError: a file is missing, holds no SentencePiece model, or has other special ids than triptych.
        """
        models = {name: _read(key, file, corpus.languages) for name, (key, file) in self._files.items()}
        digests = [hashlib.sha256(model).hexdigest() for model in models.values()]
        identity = [OWN, sentencepiece.__version__, corpus.languages, *digests]
        sizes = [sentencepiece.SentencePieceProcessor(model_proto=model).get_piece_size() for model in models.values()]
        settings = TokenizerSettings(
            name=f"{OWN}-{'joint' if self.joint else 'separate'}-{'+'.join(map(str, dict.fromkeys(sizes)))}",
            algorithm=OWN,
            fingerprint=hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16],
            languages=corpus.languages,
            joint=self.joint,
            byte_fallback=False,
            bpe_dropout=0.0,
            unigram_alpha=None,
            lines=0,
        )
        return Tokenizer(settings, models)


def _read(key: str, file: str, languages: tuple[str, ...]) -> bytes:
    """Return the bytes of a SentencePiece model whose special ids are triptych's."""
    path = Path(file).expanduser()
    if not path.is_file():
        raise UserError(f"tokenizer.{key}={file} is no file; give a SentencePiece model.")
    model = path.read_bytes()
    try:
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    except RuntimeError as error:
        raise UserError(f"tokenizer.{key}={file} is no SentencePiece model; give one that spm_train wrote.") from error
    tags = [f"<{language}>" for language in languages]
    found = {name: getattr(processor, f"{name}_id")() for name in SPECIAL_IDS}
    ids = range(SRC_TAG, min(SRC_TAG + len(tags), processor.get_piece_size()))
    controls = [processor.id_to_piece(i) for i in ids if processor.is_control(i)]
    if found != SPECIAL_IDS or controls != tags:
        wanted = " ".join(f"--{name}_id={i}" for name, i in SPECIAL_IDS.items())
        raise UserError(
            f"tokenizer.{key}={file} has other special ids than triptych ({_listed(found)}, and the control symbols "
            f"{', '.join(controls) or 'none'} after them); train it by spm_train {wanted} --control_symbols="
            f"{','.join(tags)}."
        )
    return model


def _listed(ids: dict[str, int]) -> str:
    return ", ".join(f"{name} {i}" for name, i in ids.items())
