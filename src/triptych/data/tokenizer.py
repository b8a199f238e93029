"""SentencePiece tokenizers (Kudo and Richardson 2018, https://aclanthology.org/D18-2012): text to ids and back.

Every vocabulary begins with ``<pad> <unk> <s> </s>`` (ids 0 to 3, see ``contract/vocabulary.py``), followed by the
language tags (ids 4 and 5, and more in a run of more languages). The tags are control symbols, which SentencePiece
never produces from text: a sentence that contains ``<en>`` is encoded as ordinary pieces.

Text is not normalised: the normalisation rule is ``identity``, spaces are kept and every character of the training
text has a piece, so decoding restores the encoded text. SentencePiece's default rule, ``nmt_nfkc``, rewrites quotes,
spaces and widths, so that references would no longer be the published ones. With ``byte_fallback`` any text is
restored; without it a character that is not in the training text becomes ``<unk>``. One exception: ``▁`` (U+2581),
SentencePiece's symbol for a space, is decoded as a space.

``word`` has a closed vocabulary, as translation models had before pieces (Bahdanau et al. 2015; Luong et al. 2015): the
most frequent words and punctuation marks. All others become ``<unk>``, and in a translation ``⁇``, which counts as a
wrong word. Text of known words is restored with single spaces (see ``word_splitting.py``).
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Protocol

import sentencepiece

from triptych.contract.vocabulary import BOS, EOS, PAD, SIDES, UNK, LanguageTags, Vocabulary
from triptych.data import word_splitting
from triptych.data.bpe_dropout import BpeDropout
from triptych.data.sentencepiece_training import train_model
from triptych.data.text_file import digest_lines
from triptych.data.tokenizer_settings import TokenizerSettings
from triptych.errors import UserError, require_at_least, require_one_of
from triptych.files import made_once, replacing
from triptych.ranges import Count, Pieces, Positive, Probability
from triptych.stored import DamagedFile, check_shape, read_bytes, read_json

logger = logging.getLogger(__name__)

SRC_TAG, TGT_TAG = 4, 5
"""Ids of the first two language tags in every vocabulary. With one direction: the source's and the target's."""

WORD = "word"
ALGORITHMS = ("bpe", "unigram", "char", WORD)
OWN = "own"
"""What stands for the algorithm of a model that the user has trained (``own_tokenizer``)."""

ANNOUNCED = 100_000
"""Smallest number of lines or pairs for which training a tokenizer, or encoding, logs that it begins."""
_SETTINGS_FILE = "tokenizer.json"
_DIGESTS = "models"
"""Key of the hashes of the models in the file of settings. Tokenizers of older versions lack it."""
REMEDY = "put the tokenizer of the run back; one in the cache can be deleted, and is trained again"


class ParallelText(Protocol):
    """What training a tokenizer needs from a corpus: the languages, and the lines of both sides of every split."""

    @property
    def languages(self) -> tuple[str, ...]: ...

    @property
    def splits(self) -> Mapping[str, tuple[Sequence[str], Sequence[str]]]: ...


class Tokenizer:
    """A trained tokenizer, with one vocabulary for both sides or one for each.

    Args:
        settings: settings of the tokenizer.
        models: serialised SentencePiece models: ``joint``, or ``src`` and ``tgt``.

    Attributes:
        name: name in tables, such as ``bpe-joint-8000``.
        algorithm: one of ``ALGORITHMS``, or ``OWN``.
        fingerprint: hash of the settings and the training text, 16 hexadecimal digits.
        languages: source and target language, or all languages of several directions, in the order of their tags.
        joint: whether both sides share one vocabulary.
        samples: whether training draws segmentations at random.
        lines: number of lines that the tokenizer was trained on; 0 where that is not known.
        vocabulary: sizes and tags, for the model.
    """

    def __init__(self, settings: TokenizerSettings, models: Mapping[str, bytes]) -> None:
        self.name = settings.name
        self.algorithm = settings.algorithm
        self.fingerprint = settings.fingerprint
        self.languages = settings.languages
        self.joint = settings.joint
        self.samples = settings.bpe_dropout > 0 or settings.unigram_alpha is not None
        self.lines = settings.lines
        self._not_decoded = frozenset((PAD, BOS, EOS, *map(self.tag, self.languages)))
        self._settings = settings
        self._models = dict(models)
        loaded = {name: sentencepiece.SentencePieceProcessor(model_proto=model) for name, model in models.items()}
        self._processors = {side: loaded["joint" if settings.joint else side] for side in SIDES}
        self._dropouts: dict[str, BpeDropout] = {}
        if settings.bpe_dropout:
            dropouts = {name: BpeDropout(processor, settings.byte_fallback) for name, processor in loaded.items()}
            self._dropouts = {side: dropouts["joint" if settings.joint else side] for side in SIDES}
        self.vocabulary = Vocabulary(
            src_size=self._processors["src"].get_piece_size(),
            tgt_size=self._processors["tgt"].get_piece_size(),
            joint=settings.joint,
            src_tag=SRC_TAG,
            tgt_tag=TGT_TAG,
        )

    def tag(self, language: str) -> int:
        """Return the id of a language's tag, the same on both sides.

        Raises:
            UserError: the tokenizer has no tag for the language.
        """
        if language not in self.languages:
            raise UserError(f"the tokenizer has no tag <{language}>; its languages are {', '.join(self.languages)}.")
        return SRC_TAG + self.languages.index(language)

    def tags(self, src: str, tgt: str) -> LanguageTags:
        """Return the tags of a pair of languages, for a run of several directions.

        Raises:
            UserError: the tokenizer has no tag for one of the languages.
        """
        return LanguageTags(self.tag(src), self.tag(tgt))

    def encode(self, lines: Sequence[str], side: str, threads: int = -1) -> list[list[int]]:
        """Encode lines as ids, without ``<s>``, ``</s>`` or language tags. An empty line gives an empty list.

        Args:
            lines: text to encode.
            side: ``src`` or ``tgt``.
            threads: number of threads; -1 for one per CPU core.
        """
        processor = self._processors[side]
        if self.algorithm == WORD:  # SentencePiece would make one <unk> of several unknown words in a row
            return [processor.piece_to_id([f"▁{word}" for word in word_splitting.split(line)]) for line in lines]
        return processor.encode(list(lines), num_threads=threads)

    def sample(self, lines: Sequence[str], side: str, seed: int) -> list[list[int]]:
        """Encode lines with randomly drawn segmentations, determined by ``seed`` and all the lines together.

        Segmentations are drawn by BPE dropout (see ``BpeDropout``), or from the unigram lattice (Kudo 2018, section
        3.2): in proportion to their probability to the power of ``unigram_alpha``.

        Args:
            lines: text to encode.
            side: ``src`` or ``tgt``.
            seed: seed of the draws; its lower 32 bits are used.
        """
        if self._dropouts:
            return self._dropouts[side].encode(lines, self._settings.bpe_dropout, seed % 2**32)
        sentencepiece.set_random_generator_seed(seed % 2**32)
        options = {"enable_sampling": True, "alpha": self._settings.unigram_alpha, "nbest_size": -1}
        # SentencePiece applies the seed to new threads only, and encodes a single line in the current thread: hence
        # the extra empty line. More than one thread would each start from the same seed.
        return self._processors[side].encode([*lines, ""], num_threads=1, **options)[:-1]

    def decode(self, ids: Sequence[Sequence[int]], side: str) -> list[str]:
        """Decode ids to text. Special ids are dropped, except ``<unk>``, which becomes `` ⁇ ``."""
        rows = [[int(i) for i in row if i not in self._not_decoded] for row in ids]
        if self.algorithm != WORD:
            return self._processors[side].decode(rows)
        piece_of = self._processors[side].id_to_piece
        pieces = [[word_splitting.UNKNOWN if i == UNK else piece_of(i) for i in row] for row in rows]
        return [word_splitting.join(piece.removeprefix("▁") for piece in row) for row in pieces]

    def pieces(self, ids: Sequence[int], side: str) -> list[str]:
        """Return the piece of each id, special ids included (``<s>``, ``<en>``), for plots and for BLEU over pieces."""
        return self._processors[side].id_to_piece([int(i) for i in ids])

    def ids(self, pieces: Sequence[str], side: str) -> list[int]:
        """Return the id of each piece, special pieces included."""
        return self._processors[side].piece_to_id(list(pieces))

    def vocabulary_pieces(self, side: str) -> list[str]:
        """Return the whole vocabulary of a side: the piece of every id, in order."""
        return self.pieces(range(self._processors[side].get_piece_size()), side)

    def save(self, folder: Path) -> None:
        """Write the models and the settings to a folder.

        The settings come last: a folder without them is incomplete, and ``load`` refuses it.
        """
        for name, model in self._models.items():
            with replacing(folder / f"{name}.model") as path:
                path.write_bytes(model)
        with replacing(folder / _SETTINGS_FILE) as path:
            stored = {**asdict(self._settings), _DIGESTS: {name: _digest(one) for name, one in self._models.items()}}
            path.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Tokenizer:
        """Load a tokenizer that ``save`` has written.

        Raises:
            UserError: the folder holds no tokenizer, or one of another version of triptych.
        """
        if not (folder / _SETTINGS_FILE).exists():
            raise UserError(f"'{folder}' holds no tokenizer: {_SETTINGS_FILE} is missing.")
        try:
            stored = _renamed(read_json(folder / _SETTINGS_FILE, dict[str, Any], REMEDY))
            check_shape(stored, TokenizerSettings)
            known = {field.name: stored[field.name] for field in fields(TokenizerSettings)}
            settings = TokenizerSettings(**{**known, "languages": tuple(stored["languages"])})
            names = ("joint",) if settings.joint else SIDES
            models = {name: read_bytes(folder / f"{name}.model", REMEDY) for name in names}
            for name, model in models.items():
                if stored.get(_DIGESTS, {}).get(name, _digest(model)) != _digest(model):
                    raise DamagedFile(folder / f"{name}.model", "its checksum is wrong", REMEDY)
            return cls(settings, models)
        except (ValueError, AttributeError, TypeError, RuntimeError) as error:  # the last one is SentencePiece's
            raise DamagedFile(folder, error, f"it may be of another version of triptych; {REMEDY}") from error


def _digest(model: bytes) -> str:
    return hashlib.sha256(model).hexdigest()


def _renamed(stored: dict[str, Any]) -> dict[str, Any]:
    """Return stored settings under today's names.

    Version 0.2.0 had one key, ``sampling``, for what training draws at random. No training goes on with a tokenizer of
    another version, so nothing is drawn with it.
    """
    if "sampling" not in stored:
        return stored
    kept = {key: value for key, value in stored.items() if key != "sampling"}
    return {**kept, "byte_fallback": False, "bpe_dropout": 0.0, "unigram_alpha": None}  # all three serve drawing


class SentencePieceTrainer:
    """Train a tokenizer on a corpus.

    The fingerprint of the tokenizer is a hash of this object's attributes in order, so a new attribute changes it.

    Args:
        algorithm: ``bpe`` (Sennrich et al. 2016), ``unigram`` (Kudo 2018), ``char`` or ``word``.
        joint: whether both sides share one vocabulary.
        byte_fallback: whether to encode unknown characters as UTF-8 bytes (256 more pieces) instead of ``<unk>``.
        train_lines: maximum number of lines of each side to train on, evenly spaced over the text; None for all.
        vocab_size: exact number of pieces in each vocabulary, special ids included; None for ``char``, which takes
            every character of the training text.
        bpe_dropout: with ``bpe``, probability of leaving out a merge in training (Provilkov et al. 2020); 0 for none.
        unigram_alpha: with ``unigram``, exponent of the probabilities from which training draws segmentations (Kudo
            2018, section 3.2): the smaller, the more evenly; None for always the most probable one.

    Raises:
        UserError: the algorithm is unknown, or lacks an option that is given.
    """

    def __init__(
        self,
        *,
        algorithm: str,
        joint: bool,
        byte_fallback: bool,
        train_lines: Count | None,
        vocab_size: Pieces | None = None,
        bpe_dropout: Probability = 0.0,
        unigram_alpha: Positive | None = None,
    ) -> None:
        require_one_of(ALGORITHMS, "tokenizer", algorithm=algorithm)
        if algorithm == "char" and vocab_size is not None:
            raise UserError("tokenizer.algorithm=char has no vocab_size; leave it out.")
        if algorithm == WORD and byte_fallback:
            raise UserError("tokenizer.byte_fallback=true does not go with tokenizer=word: unknown words are <unk>.")
        for key, value, owner in (("bpe_dropout", bpe_dropout, "bpe"), ("unigram_alpha", unigram_alpha, "unigram")):
            if value and algorithm != owner:
                raise UserError(f"tokenizer.{key}={value} belongs to tokenizer={owner}, not {algorithm}; leave it out.")
        if algorithm != "char" and (vocab_size is None or vocab_size <= TGT_TAG + 1):
            raise UserError(f"tokenizer.vocab_size={vocab_size} must be more than the {TGT_TAG + 1} special pieces.")
        if not 0 <= bpe_dropout < 1:
            raise UserError(f"tokenizer.bpe_dropout={bpe_dropout} must be at least 0 (off) and less than 1.")
        if unigram_alpha is not None and not 0 < unigram_alpha < math.inf:
            raise UserError(f"tokenizer.unigram_alpha={unigram_alpha} must be more than 0, or null (off).")
        require_at_least(1, "tokenizer", train_lines=train_lines)
        self.algorithm = algorithm
        self.joint = joint
        self.byte_fallback = byte_fallback
        self.train_lines = train_lines
        self.vocab_size = vocab_size
        self.bpe_dropout = bpe_dropout
        self.unigram_alpha = unigram_alpha

    def fit(self, corpus: ParallelText, cache: Path) -> Tokenizer:
        """Return the tokenizer of the training split: train it on the first call, load it from ``cache`` later.

        Raises:
            UserError: ``vocab_size`` is too large or too small for the training text; the message gives the bound.
        """
        src, tgt = corpus.splits["train"]
        fingerprint = self._fingerprint(corpus.languages, src, tgt)
        folder = Path(cache).expanduser() / "tokenizers" / fingerprint
        with made_once(folder) as is_missing:
            if is_missing:
                self._train(folder, fingerprint, corpus.languages, src, tgt)
        return Tokenizer.load(folder)

    def _train(
        self, folder: Path, fingerprint: str, languages: tuple[str, ...], src: Sequence[str], tgt: Sequence[str]
    ) -> None:
        sides = {"src": self._select_lines(src), "tgt": self._select_lines(tgt)}
        if self.algorithm == WORD:
            sides = {side: [" ".join(word_splitting.split(line)) for line in lines] for side, lines in sides.items()}
        texts = {"joint": [*sides["src"], *sides["tgt"]]} if self.joint else sides
        if (lines := sum(map(len, texts.values()))) >= ANNOUNCED:
            logger.info("training the tokenizer on %s lines", f"{lines:,}")
        models = {
            name: train_model(
                lines,
                languages,
                algorithm=self.algorithm,
                vocab_size=self.vocab_size,
                byte_fallback=self.byte_fallback,
            )
            for name, lines in texts.items()
        }
        settings = TokenizerSettings(
            name=self._name(models),
            algorithm=self.algorithm,
            fingerprint=fingerprint,
            languages=languages,
            joint=self.joint,
            byte_fallback=self.byte_fallback,
            bpe_dropout=self.bpe_dropout,
            unigram_alpha=self.unigram_alpha,
            lines=sum(map(len, texts.values())),
        )
        with replacing(folder, keep_folder=True) as temporary:
            Tokenizer(settings, models).save(temporary)

    def _fingerprint(self, languages: tuple[str, ...], *texts: Sequence[str]) -> str:
        identity = [sentencepiece.__version__, vars(self), languages, *map(digest_lines, texts)]
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]

    def _select_lines(self, lines: Sequence[str]) -> Sequence[str]:
        """Return at most ``train_lines`` lines, evenly spaced."""
        if self.train_lines is None or len(lines) <= self.train_lines:
            return lines
        return [lines[i * len(lines) // self.train_lines] for i in range(self.train_lines)]

    def _name(self, models: Mapping[str, bytes]) -> str:
        sizes = [sentencepiece.SentencePieceProcessor(model_proto=model).get_piece_size() for model in models.values()]
        return f"{self.algorithm}-{'joint' if self.joint else 'separate'}-{'+'.join(map(str, dict.fromkeys(sizes)))}"
