"""Encoded corpora: the ids of the tokenizer, pairs dropped only from training, encoded once."""

from __future__ import annotations

import mmap
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.contract.vocabulary import SIDES
from triptych.data import encoding
from triptych.data.corpus import Corpus, Pairs, ToyCorpus
from triptych.data.ragged_array import RaggedArray
from triptych.data.store import Store, prepare
from triptych.data.tokenizer import SentencePieceTrainer, Tokenizer
from triptych.errors import UserError
from triptych.files import build_folder_once

TRAIN = Pairs(["a b", "a b c d e f g h", "a", "b c d", "c"], ["A B", "A", "A B C D E", "B C D", "C"])
TEST = Pairs(["a b c d e f g h", "", "h"], ["A", "B", ""])


@pytest.fixture
def corpus() -> Corpus:
    return Corpus("letters", ("en", "fr"), {"train": TRAIN, "validation": TEST, "test": TEST}, [])


@pytest.fixture
def tokenizer(corpus: Corpus, tmp_path: Path) -> Tokenizer:
    trainer = SentencePieceTrainer(algorithm="char", joint=False, byte_fallback=False, train_lines=None)
    return trainer.fit(corpus, tmp_path)


def test_a_store_has_the_ids_of_the_tokenizer(corpus: Corpus, tokenizer: Tokenizer, tmp_path: Path) -> None:
    stores = prepare(corpus, tokenizer, tmp_path, None, None)
    assert list(stores) == ["train", "validation", "test"]
    for name, pairs in corpus.splits.items():
        store = stores[name]
        assert store.index.tolist() == list(range(len(pairs.src)))
        encoded = [tokenizer.encode(lines, side) for lines, side in zip(pairs, SIDES, strict=True)]
        for i, (src, tgt) in enumerate(zip(*encoded, strict=True)):
            assert [ids.tolist() for ids in store.pair(i)] == [src, tgt]
            assert store.lengths[i].tolist() == [len(src) + 1, len(tgt) + 2]
        assert not store.report


def test_limits_shorten_training_alone_and_are_counted_on_every_call(
    corpus: Corpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    # A letter and the space before it are two pieces: pair 1 is too long, pair 2 has 2 and 10 pieces.
    for _ in range(2):
        stores = prepare(corpus, tokenizer, tmp_path, 10, 4.9)
        assert stores["train"].index.tolist() == [0, 3, 4]
        assert tokenizer.decode([stores["train"].pair(1)[0].tolist()], "src") == ["b c d"]
        assert stores["train"].report == [
            "train: 1 pairs with more than 10 pieces on a side dropped",
            "train: 1 pairs with one side more than 4.9 times as long as the other dropped",
        ]
        assert len(stores["test"]) == len(stores["validation"]) == 3
    assert prepare(corpus, tokenizer, tmp_path, 10, 5)["train"].index.tolist() == [0, 2, 3, 4]


def test_built_once(corpus: Corpus, tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(corpus, tokenizer, tmp_path, 10, None)
    assert [path for path in (tmp_path / "stores").iterdir() if path.name.startswith(".") and path.is_dir()] == []
    monkeypatch.setattr(Tokenizer, "encode", None)
    assert len(prepare(corpus, tokenizer, tmp_path, 10, None)["train"]) == 4
    with pytest.raises(TypeError):
        prepare(corpus, tokenizer, tmp_path, 11, None)


def test_ids_stay_on_disk_and_in_other_processes(corpus: Corpus, tokenizer: Tokenizer, tmp_path: Path) -> None:
    store = prepare(corpus, tokenizer, tmp_path, None, None)["train"]
    assert store.ids["src"].dtype == np.uint16
    sent = pickle.dumps(store)
    assert store.ids["src"].tobytes() not in sent
    copy: Store = pickle.loads(sent)
    assert isinstance(copy.ids["src"].base, np.memmap | mmap.mmap)
    assert copy.pair(3)[1].tolist() == store.pair(3)[1].tolist()


def test_limits_that_leave_nothing(corpus: Corpus, tokenizer: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"data\.max_length=1 and .* leave no training pair"):
        prepare(corpus, tokenizer, tmp_path, 1, None)


def files(cache: Path) -> dict[str, bytes]:
    (folder,) = (path for path in (cache / "stores").iterdir() if path.is_dir())
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("torn", [False, True], ids=["killed", "power cut"])
def test_an_interrupted_encoding_resumes(
    corpus: Corpus, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torn: bool
) -> None:
    """Killed while a block was half written; or files that have lost data that the journal says they have."""
    monkeypatch.setattr(encoding, "BLOCK_PAIRS", 2)
    prepare(corpus, tokenizer, tmp_path / "whole", 10, None)
    encode, starts = encoding.PairEncoder.__call__, []

    def fail_at_third_block(self: encoding.PairEncoder, start: int, stop: int) -> tuple[RaggedArray, RaggedArray]:
        starts.append(start)
        if len(starts) == 3:
            (folder,) = (tmp_path / "cut" / "stores").glob(".letters-*[!k]")
            with (folder / "train.src.ids").open("r+b" if torn else "ab") as ids:
                ids.truncate(2) if torn else ids.write(b"half of a blo")
            raise KeyboardInterrupt
        return encode(self, start, stop)

    monkeypatch.setattr(encoding.PairEncoder, "__call__", fail_at_third_block)
    with pytest.raises(KeyboardInterrupt):
        prepare(corpus, tokenizer, tmp_path / "cut", 10, None)
    prepare(corpus, tokenizer, tmp_path / "cut", 10, None)
    repeated = [0, 2, 4] if torn else [4]
    assert starts == [0, 2, 4, *repeated, 0, 2, 0, 2]
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


def test_several_processes_write_the_same_files_as_one(
    corpus: Corpus, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(corpus, tokenizer, tmp_path / "one", 10, None)
    monkeypatch.setattr(encoding, "BLOCK_PAIRS", 1)  # five blocks of training pairs
    monkeypatch.setattr(encoding, "MIN_PARALLEL_PAIRS", 4)
    prepare(corpus, tokenizer, tmp_path / "many", 10, None)
    assert files(tmp_path / "many") == files(tmp_path / "one")


@pytest.fixture(scope="module", params=["bpe", "unigram", "char", "word"])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Tokenizer, Corpus]:
    corpus = ToyCorpus(seed=0, train=200, validation=1, test=1, test_long=1, max_length=None, max_length_ratio=None)
    size = {} if request.param == "char" else {"vocab_size": {"bpe": 420, "unigram": 180, "word": 100}[request.param]}
    settings = {"algorithm": request.param, "joint": False, "byte_fallback": request.param == "bpe", **size}
    trainer = SentencePieceTrainer(train_lines=None, **settings)
    return trainer.fit(corpus, tmp_path_factory.mktemp("cache")), corpus


@given(st.lists(st.text(alphabet="aeéx ▁'.\t\u3000\u00a0漢", max_size=30), max_size=5), st.integers(0, 199))
def test_blocks_have_the_ids_of_their_lines(trained: tuple[Tokenizer, Corpus], texts: list[str], position: int) -> None:
    tokenizer, corpus = trained
    sides = [[*texts, lines[position], f"  {lines[position]} "] for lines in corpus.splits["train"]]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(encoding, "MAX_CACHED_WORDS", 3)
        encoder = encoding.PairEncoder(tokenizer, Pairs(*sides))
        for _ in range(2):
            for ids, lines, side in zip(encoder(0, len(sides[0])), sides, SIDES, strict=True):
                assert [row.tolist() for row in ids.rows()] == tokenizer.encode(lines, side)


def test_of_two_processes_one_builds_and_the_other_waits(corpus: Corpus, tokenizer: Tokenizer, tmp_path: Path) -> None:
    folder = tmp_path / "stores" / "x"
    order = []

    def build(name: str) -> None:
        with build_folder_once(folder) as unfinished:
            if unfinished is not None:
                entered.set()
                time.sleep(0.2)
            order.append((name, unfinished is not None))

    entered = threading.Event()
    first = threading.Thread(target=build, args=("first",))
    first.start()
    entered.wait()
    build("second")
    first.join()
    assert order == [("first", True), ("second", False)]


def test_processes_that_encode_never_get_ctrl_c() -> None:
    """Not even while they start, when they could only end with a traceback."""
    asked = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    with encoding._interrupts_held_back():
        held = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout
    after = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout
    assert (held, after) == ("True\n", "False\n")
