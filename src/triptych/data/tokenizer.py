"""SentencePiece tokenizers (Kudo and Richardson 2018, https://aclanthology.org/D18-2012): text to ids and back.

Every vocabulary begins with ``<pad> <unk> <s> </s>`` (ids 0 to 3, see ``batch.py``), then the language tags (ids 4 and
5, and on from there in a run of more languages). The tags are control symbols, which SentencePiece never produces from
text: a sentence that contains ``<en>`` is spelled out of ordinary pieces.

Text is taken as it is: the normalisation rule is ``identity``, spaces are kept and every character of the training
text gets a piece, so that decoding gives back what was encoded. SentencePiece's usual rule, ``nmt_nfkc``, rewrites
quotes, spaces and widths, and a reference that has been through it is no longer the published one. With
``byte_fallback`` the round trip holds for any text; without it a character that training never saw becomes ``<unk>``.
The one exception is ``▁`` (U+2581), SentencePiece's own sign for a space, which comes back as a space.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import sentencepiece

from triptych.contract.vocabulary import BOS, EOS, PAD, SIDES, UNK, LanguageTags, Vocabulary
from triptych.data.text_file import digest
from triptych.errors import UserError, require_at_least, require_one_of
from triptych.files import replacing

SRC_TAG, TGT_TAG = 4, 5
"""Ids of the first two language tags in every vocabulary: source and target, where there is one direction."""

ALGORITHMS = ("bpe", "unigram", "char")

_SETTINGS = "tokenizer.json"


class ParallelText(Protocol):
    """What training a tokenizer needs of a corpus: the languages, and the lines of both sides of each split."""

    @property
    def languages(self) -> tuple[str, ...]: ...

    @property
    def splits(self) -> Mapping[str, tuple[Sequence[str], Sequence[str]]]: ...


@dataclass(frozen=True)
class Settings:
    """What identifies a trained tokenizer, kept beside its models."""

    name: str
    algorithm: str
    fingerprint: str
    languages: tuple[str, ...]
    joint: bool
    sampling: float
    lines: int


class Tokenizer:
    """Two trained vocabularies, or one shared by both sides.

    Attributes:
        name: for tables, such as ``bpe-joint-8000``.
        algorithm: one of ``ALGORITHMS``.
        fingerprint: 16 hexadecimal digits over the settings and the training text.
        languages: source and target language, or all of a run of several directions, in the order of their tags.
        joint: whether both sides share one vocabulary.
        sampling: the strength of subword sampling in training, 0 for none.
        lines: how many lines it was trained on.
        vocabulary: what a model must know.
    """

    def __init__(self, settings: Settings, models: Mapping[str, bytes]) -> None:
        self.name = settings.name
        self.algorithm = settings.algorithm
        self.fingerprint = settings.fingerprint
        self.languages = settings.languages
        self.joint = settings.joint
        self.sampling = settings.sampling
        self.lines = settings.lines
        self._silent = frozenset((PAD, BOS, EOS, *map(self.tag, self.languages)))
        self._settings = settings
        self._models = dict(models)
        loaded = {name: sentencepiece.SentencePieceProcessor(model_proto=model) for name, model in models.items()}
        self._processors = {side: loaded["joint" if settings.joint else side] for side in SIDES}
        self.vocabulary = Vocabulary(
            src_size=self._processors["src"].get_piece_size(),
            tgt_size=self._processors["tgt"].get_piece_size(),
            joint=settings.joint,
            src_tag=SRC_TAG,
            tgt_tag=TGT_TAG,
        )

    def tag(self, language: str) -> int:
        """The id of a language's tag, the same in every vocabulary.

        Raises:
            UserError: a language that has none.
        """
        if language not in self.languages:
            raise UserError(f"the tokenizer has no tag <{language}>; its languages are {', '.join(self.languages)}.")
        return SRC_TAG + self.languages.index(language)

    def tags(self, src: str, tgt: str) -> LanguageTags:
        """Those of a pair in a run of several directions: the tags of its languages."""
        return LanguageTags(self.tag(src), self.tag(tgt))

    def encode(self, lines: Sequence[str], side: str, threads: int = -1) -> list[list[int]]:
        """Text to bare ids, without ``<s>``, ``</s>`` or a tag; an empty line gives an empty list.

        Args:
            side: ``src`` or ``tgt``.
            threads: to encode with; -1 for as many as there are cores.
        """
        return self._processors[side].encode(list(lines), num_threads=threads)

    def sample(self, lines: Sequence[str], side: str, seed: int) -> list[list[int]]:
        """The same, of each line a segmentation that is drawn, as a function of all lines and of ``seed``.

        By BPE dropout (Provilkov et al. 2020) with probability ``sampling``, or from the unigram lattice (Kudo 2018)
        with smoothing ``sampling``.

        Args:
            seed: of its lower 32 bits.
        """
        sentencepiece.set_random_generator_seed(seed % 2**32)
        drawn = {"enable_sampling": True, "alpha": self.sampling, "nbest_size": -1}
        # The seed holds for new threads alone: a single line would be drawn in this one. Every further thread would
        # start from the same seed.
        return self._processors[side].encode([*lines, ""], num_threads=1, **drawn)[:-1]

    def decode(self, ids: Sequence[Sequence[int]], side: str) -> list[str]:
        """Ids to text. Special ids are dropped, except ``<unk>``, which shows as `` ⁇ ``."""
        return self._processors[side].decode([[int(i) for i in row if i not in self._silent] for row in ids])

    def pieces(self, ids: Sequence[int], side: str) -> list[str]:
        """One name an id, special ids included (``<s>``, ``<en>``): for plots and for BLEU over pieces."""
        return self._processors[side].id_to_piece([int(i) for i in ids])

    def vocabulary_pieces(self, side: str) -> list[str]:
        """The name of every id of a side, in order."""
        return self.pieces(range(self._processors[side].get_piece_size()), side)

    def save(self, folder: Path) -> None:
        """Writes the models and, last, the settings that make the folder a tokenizer."""
        for name, model in self._models.items():
            with replacing(folder / f"{name}.model") as path:
                path.write_bytes(model)
        with replacing(folder / _SETTINGS) as path:
            path.write_text(json.dumps(asdict(self._settings), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Tokenizer:
        """Raises ``UserError`` where ``folder`` holds no tokenizer."""
        try:
            stored = json.loads((folder / _SETTINGS).read_text(encoding="utf-8"))
            settings = Settings(**{**stored, "languages": tuple(stored["languages"])})
            names = ("joint",) if settings.joint else SIDES
            return cls(settings, {name: (folder / f"{name}.model").read_bytes() for name in names})
        except FileNotFoundError as error:
            raise UserError(f"'{folder}' holds no tokenizer: {Path(error.filename).name} is missing.") from error
        except TypeError as error:
            raise UserError(f"'{folder}' is of another version of triptych, and this one cannot read it.") from error


class SentencePieceTrainer:
    """Settings of a tokenizer, ready to be trained on a corpus.

    Args:
        algorithm: ``bpe`` (Sennrich et al. 2016), ``unigram`` (Kudo 2018) or ``char``.
        joint: one vocabulary for both sides, or one each.
        byte_fallback: spell unknown characters as UTF-8 bytes (256 more pieces) instead of ``<unk>``.
        vocab_size: pieces of each vocabulary, special ids counted, met exactly; ``char`` takes every character of
            the training text and has none.
        train_lines: most lines of a side that it is trained on, evenly spaced; None for all.
        sampling: BPE dropout probability or unigram smoothing in training, 0 for none; ``char`` has none.

    Raises:
        UserError: for an unknown algorithm or an option that the algorithm does not have.
    """

    def __init__(
        self,
        *,
        algorithm: str,
        joint: bool,
        byte_fallback: bool,
        train_lines: int | None,
        vocab_size: int | None = None,
        sampling: float = 0.0,
    ) -> None:
        require_one_of(ALGORITHMS, "tokenizer", algorithm=algorithm)
        if algorithm == "char" and (vocab_size is not None or sampling):
            raise UserError("tokenizer.algorithm=char has neither vocab_size nor sampling; leave both out.")
        if algorithm != "char" and (vocab_size is None or vocab_size <= TGT_TAG + 1):
            raise UserError(f"tokenizer.vocab_size={vocab_size} must be more than the {TGT_TAG + 1} special pieces.")
        if not 0 <= sampling <= 1:
            raise UserError(f"tokenizer.sampling={sampling} must lie between 0 (off) and 1.")
        require_at_least(1, "tokenizer", train_lines=train_lines)
        self.algorithm = algorithm
        self.joint = joint
        self.byte_fallback = byte_fallback
        self.train_lines = train_lines
        self.vocab_size = vocab_size
        self.sampling = sampling

    def fit(self, corpus: ParallelText, cache: Path) -> Tokenizer:
        """The tokenizer of the training split, trained once and then loaded from ``cache``.

        Raises:
            UserError: where ``vocab_size`` does not fit the training text, with the bound.
        """
        src, tgt = corpus.splits["train"]
        fingerprint = self._fingerprint(corpus.languages, src, tgt)
        folder = Path(cache).expanduser() / "tokenizers" / fingerprint
        if not folder.exists():
            sides = {"src": self._sample(src), "tgt": self._sample(tgt)}
            texts = {"joint": [*sides["src"], *sides["tgt"]]} if self.joint else sides
            models = {name: self._train(lines, corpus.languages) for name, lines in texts.items()}
            settings = Settings(
                name=self._name(models),
                algorithm=self.algorithm,
                fingerprint=fingerprint,
                languages=corpus.languages,
                joint=self.joint,
                sampling=self.sampling,
                lines=sum(map(len, texts.values())),
            )
            with replacing(folder) as beside:
                Tokenizer(settings, models).save(beside)
        return Tokenizer.load(folder)

    def _fingerprint(self, languages: tuple[str, ...], *texts: Sequence[str]) -> str:
        identity = [sentencepiece.__version__, vars(self), languages, *map(digest, texts)]
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]

    def _sample(self, lines: Sequence[str]) -> Sequence[str]:
        if self.train_lines is None or len(lines) <= self.train_lines:
            return lines
        return [lines[i * len(lines) // self.train_lines] for i in range(self.train_lines)]

    def _name(self, models: Mapping[str, bytes]) -> str:
        sizes = [sentencepiece.SentencePieceProcessor(model_proto=model).get_piece_size() for model in models.values()]
        return f"{self.algorithm}-{'joint' if self.joint else 'separate'}-{'+'.join(map(str, dict.fromkeys(sizes)))}"

    def _train(self, lines: Sequence[str], languages: tuple[str, ...]) -> bytes:
        model = io.BytesIO()
        size = {"use_all_vocab": True} if self.vocab_size is None else {"vocab_size": self.vocab_size}
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
                model_writer=model,
                model_type=self.algorithm,
                **size,
                byte_fallback=self.byte_fallback,
                pad_id=PAD,
                unk_id=UNK,
                bos_id=BOS,
                eos_id=EOS,
                control_symbols=[f"<{language}>" for language in languages],
                normalization_rule_name="identity",
                remove_extra_whitespaces=False,
                character_coverage=1.0,
                # Longer lines would silently be left out; less than 10 is refused.
                max_sentence_length=max(10, 1 + max(len(line.encode()) for line in lines)),
                # The sums of the unigram model depend on how the text is split over threads.
                num_threads=4,
                minloglevel=2,
            )
        except RuntimeError as error:
            raise self._explain(str(error)) from error
        return model.getvalue()

    def _explain(self, message: str) -> Exception:
        """SentencePiece's complaint about the vocabulary's size as a ``UserError``, any other as it is."""
        given = f"tokenizer.vocab_size={self.vocab_size}"
        if found := re.search(r"too high .* <= (\d+)", message):
            return UserError(f"{given} is more than the training text can fill; at most {found[1]} is allowed.")
        if found := re.search(r"required_chars\. \d+ vs (\d+)", message):
            return UserError(
                f"{given} has no room for every character of the training text; at least {found[1]} is needed."
            )
        return RuntimeError(message)
