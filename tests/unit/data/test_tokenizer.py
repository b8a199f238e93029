"""The tokenizers: exact sizes, exact round trips, tags that text cannot spell, and plain refusals."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from triptych.contract.vocabulary import BOS, EOS, PAD, SIDES, UNK
from triptych.data import toy, word_splitting
from triptych.data.sentencepiece_training import train_model
from triptych.data.tokenizer import SRC_TAG, TGT_TAG, SentencePieceTrainer, Tokenizer
from triptych.errors import UserError

ENGLISH, FRENCH = toy.splits(seed=0, train=200, validation=1, test=1, test_long=1)["train"]


@dataclass
class Text:
    languages: tuple[str, str]
    splits: dict[str, tuple[list[str], list[str]]]


TEXT = Text(("en", "fr"), {"train": (ENGLISH, FRENCH), "test": (["ж"], ["ж"])})


def trainer(**changes: object) -> SentencePieceTrainer:
    settings = {"algorithm": "bpe", "joint": True, "byte_fallback": True, "train_lines": None}
    settings |= {"vocab_size": 400}
    return SentencePieceTrainer(**{**settings, **changes})


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def bytes_tokenizer(cache: Path) -> Tokenizer:
    return trainer().fit(TEXT, cache)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="▁")))
def test_any_text_comes_back(bytes_tokenizer: Tokenizer, text: str) -> None:
    for side in SIDES:
        assert bytes_tokenizer.decode(bytes_tokenizer.encode([text], side), side) == [text]


@given(st.lists(st.sampled_from(["<en>", "<fr>", "<s>", "</s>", "<pad>", "<unk>", "cat", " ", "▁"])).map("".join))
def test_no_text_spells_a_special_id(bytes_tokenizer: Tokenizer, text: str) -> None:
    (ids,) = bytes_tokenizer.encode([text], "src")
    assert not set(ids) & {PAD, UNK, BOS, EOS, SRC_TAG, TGT_TAG}


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
@pytest.mark.parametrize("joint", [True, False])
def test_vocabulary_size_is_met_exactly(cache: Path, algorithm: str, joint: bool) -> None:
    tokenizer = trainer(algorithm=algorithm, joint=joint, vocab_size=420).fit(TEXT, cache)
    vocabulary = tokenizer.vocabulary
    assert (vocabulary.src_size, vocabulary.tgt_size, vocabulary.joint) == (420, 420, joint)
    assert tokenizer.name == f"{algorithm}-{'joint' if joint else 'separate'}-420"
    for side in SIDES:
        assert tokenizer.pieces(range(6), side) == ["<pad>", "<unk>", "<s>", "</s>", "<en>", "<fr>"]


def test_characters_of_the_training_text_alone(cache: Path) -> None:
    tokenizer = SentencePieceTrainer(algorithm="char", joint=False, byte_fallback=False, train_lines=None).fit(
        TEXT, cache
    )
    english, french = (len({*"".join(lines)}) + 6 for lines in (ENGLISH, FRENCH))
    assert (tokenizer.vocabulary.src_size, tokenizer.vocabulary.tgt_size) == (english, french)
    assert tokenizer.encode(["a cat"], "src") != tokenizer.encode(["a cat"], "tgt")
    assert tokenizer.encode(["ж"], "src")[0][-1] == UNK  # only the test set has it


@pytest.mark.parametrize("joint", [True, False])
def test_the_most_frequent_words_have_ids_and_others_are_unknown(cache: Path, joint: bool) -> None:
    size = 60
    tokenizer = trainer(algorithm="word", joint=joint, byte_fallback=False, vocab_size=size).fit(TEXT, cache)
    assert tokenizer.name == f"word-{'joint' if joint else 'separate'}-{size}"
    for side, lines in zip(SIDES, (ENGLISH, FRENCH), strict=True):
        text = [*ENGLISH, *FRENCH] if joint else lines
        counts = Counter(word for line in text for word in word_splitting.split(line))
        known = {piece.removeprefix("▁") for piece in tokenizer.vocabulary_pieces(side)[6:]}
        assert len(known) == size - 6
        assert min(counts[word] for word in known) >= max(counts[word] for word in counts.keys() - known)
        for line, ids, decoded in zip(
            lines, tokenizer.encode(lines, side), tokenizer.decode(tokenizer.encode(lines, side), side), strict=True
        ):
            tokens = word_splitting.split(line)
            assert [i == UNK for i in ids] == [word not in known for word in tokens]
            assert decoded == word_splitting.join(word if word in known else "⁇" for word in tokens)
            assert "⁇" in decoded or decoded == line


def test_an_unknown_word_is_a_wrong_word_for_bleu(cache: Path) -> None:
    tokenizer = trainer(algorithm="word", byte_fallback=False, vocab_size=60).fit(TEXT, cache)
    line = next(line for line in FRENCH if UNK in tokenizer.encode([line], "tgt")[0])
    (decoded,) = tokenizer.decode(tokenizer.encode([line], "tgt"), "tgt")
    unknown = tokenizer.encode([line], "tgt")[0].count(UNK)
    score = sacrebleu.corpus_bleu([decoded], [[line]])
    assert decoded.count("⁇") == unknown
    assert score.counts[0] == score.totals[0] - unknown
    assert score.sys_len == score.ref_len, "an unknown word still counts as a word"


def test_decoding_drops_special_ids_but_shows_unknowns(bytes_tokenizer: Tokenizer) -> None:
    (ids,) = bytes_tokenizer.encode(["a cat"], "src")
    assert bytes_tokenizer.decode([[BOS, SRC_TAG, *ids, TGT_TAG, EOS, PAD], []], "src") == ["a cat", ""]
    assert "⁇" in bytes_tokenizer.decode([[*ids, UNK]], "src")[0]


def test_trained_once_on_the_training_split_quietly(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    first = trainer().fit(TEXT, tmp_path)
    model = next(tmp_path.rglob("*.model"))
    made = model.stat().st_mtime_ns
    other_tests = Text(TEXT.languages, {**TEXT.splits, "test": (["x"], ["y"])})
    again = trainer().fit(other_tests, tmp_path)
    assert again.fingerprint == first.fingerprint
    assert model.stat().st_mtime_ns == made
    assert capfd.readouterr() == ("", "")
    assert [path.suffix for path in tmp_path.rglob(".*")] == [".lock"], "nothing half-written"


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_training_is_deterministic(tmp_path: Path, algorithm: str) -> None:
    for name in "ab":
        trainer(algorithm=algorithm).fit(TEXT, tmp_path / name)
    first, second = (next((tmp_path / name).rglob("*.model")).read_bytes() for name in "ab")
    assert first == second


def test_fingerprint_follows_settings_and_text(cache: Path) -> None:
    other = Text(TEXT.languages, {"train": (ENGLISH, FRENCH[::-1])})
    fits = [trainer(), trainer(vocab_size=401), trainer(bpe_dropout=0.1), trainer(algorithm="unigram")]
    assert len({fit.fit(TEXT, cache).fingerprint for fit in fits} | {trainer().fit(other, cache).fingerprint}) == 5


def test_saved_and_loaded(bytes_tokenizer: Tokenizer, tmp_path: Path) -> None:
    bytes_tokenizer.save(tmp_path / "run")
    loaded = Tokenizer.load(tmp_path / "run")
    assert loaded.encode(ENGLISH, "src") == bytes_tokenizer.encode(ENGLISH, "src")
    for name in ("name", "fingerprint", "languages", "joint", "samples", "vocabulary"):
        assert getattr(loaded, name) == getattr(bytes_tokenizer, name)
    with pytest.raises(UserError, match=r"holds no tokenizer: tokenizer\.json is missing"):
        Tokenizer.load(tmp_path)


def test_a_part_of_the_lines_is_spread_over_all(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [[f"{side} {i}" for i in range(10)] for side in SIDES]
    seen: list[list[str]] = []

    def train(lines: list[str], *languages: str, **options: Any) -> bytes:
        seen.append(lines)
        return train_model(lines, *languages, **options)

    monkeypatch.setattr("triptych.data.tokenizer.train_model", train)
    text = Text(("en", "fr"), {"train": (lines[0], lines[1])})
    tokenizer = trainer(train_lines=3, vocab_size=None, algorithm="char").fit(text, cache)
    assert seen == [["src 0", "src 3", "src 6", "tgt 0", "tgt 3", "tgt 6"]]
    assert tokenizer.lines == 6


@pytest.mark.parametrize(
    "settings", [{"algorithm": "bpe", "bpe_dropout": 0.5}, {"algorithm": "unigram", "unigram_alpha": 0.5}]
)
def test_sampling_follows_its_seed_and_keeps_the_text(cache: Path, tmp_path: Path, settings: dict[str, object]) -> None:
    tokenizer = trainer(**settings).fit(TEXT, cache)

    def draw(seed: int, lines: list[str] = ENGLISH) -> list[list[int]]:
        return tokenizer.sample(lines, "src", seed)

    assert draw(1) == draw(1)
    assert draw(1, ENGLISH[:1]) == draw(1, ENGLISH[:1]) == draw(1, ENGLISH[:1])
    assert draw(1) != draw(2)
    assert draw(1) != tokenizer.encode(ENGLISH, "src")
    assert tokenizer.decode(draw(1), "src") == ENGLISH
    tokenizer.save(tmp_path)
    code = (
        "import sys, json; from pathlib import Path; from triptych.data.tokenizer import Tokenizer;"
        "tokenizer = Tokenizer.load(Path(sys.argv[1]));"
        "print(json.dumps(tokenizer.sample(json.load(sys.stdin), 'src', 1)))"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", code, tmp_path], input=json.dumps(ENGLISH), capture_output=True, text=True, check=True
    )
    assert json.loads(elsewhere.stdout) == draw(1), "another process draws otherwise"


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_an_impossible_size_names_the_bound_and_the_bound_works(cache: Path, algorithm: str) -> None:
    for asked, step in ((9000, 1), (263, -1)):
        with pytest.raises(UserError, match=f"vocab_size={asked} ") as caught:
            trainer(algorithm=algorithm, vocab_size=asked).fit(TEXT, cache)
        found = re.search(r"at (?:most|least) (\d+)", str(caught.value))
        assert found is not None
        bound = int(found[1])
        assert trainer(algorithm=algorithm, vocab_size=bound).fit(TEXT, cache).vocabulary.src_size == bound
        with pytest.raises(UserError, match=f"vocab_size={bound + step} "):
            trainer(algorithm=algorithm, vocab_size=bound + step).fit(TEXT, cache)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithm": "wordpiece"}, "algorithm=wordpiece is unknown; choose one of bpe, unigram, char, word"),
        ({"algorithm": "word"}, "byte_fallback=true does not go with tokenizer=word"),
        ({"algorithm": "char"}, "char has no vocab_size"),
        ({"algorithm": "char", "vocab_size": None, "bpe_dropout": 0.1}, "bpe_dropout=0.1 belongs to tokenizer=bpe"),
        ({"unigram_alpha": 0.1}, "unigram_alpha=0.1 belongs to tokenizer=unigram, not bpe"),
        ({"vocab_size": None}, "vocab_size=None must be more than the 6"),
        ({"vocab_size": 6}, "vocab_size=6 must be more than the 6"),
        ({"bpe_dropout": 1}, "bpe_dropout=1 must be at least 0"),
        ({"algorithm": "unigram", "unigram_alpha": 0.0}, "unigram_alpha=0.0 must be more than 0"),
    ],
)
def test_impossible_settings(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        trainer(**changes)
