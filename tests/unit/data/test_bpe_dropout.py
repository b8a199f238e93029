"""BPE dropout: SentencePiece's own pieces without it, and Provilkov's algorithm with it."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from triptych.data.bpe_dropout import BpeDropout
from triptych.data.sentencepiece_training import train_model

Model = tuple[sentencepiece.SentencePieceProcessor, BpeDropout]
LINES = [
    " ".join(words) for words in itertools.product(("der", "die"), ("rote", "blaue"), ("Katze", "Hündin", "lower"))
]


@pytest.fixture(scope="module", params=[True, False], ids=["bytes", "unknown"])
def model(request: pytest.FixtureRequest) -> Model:
    size = 300 if request.param else 50
    trained = train_model(LINES, ("en", "de"), algorithm="bpe", vocab_size=size, byte_fallback=request.param)
    processor = sentencepiece.SentencePieceProcessor(model_proto=trained)
    return processor, BpeDropout(processor, byte_fallback=request.param)


@given(
    st.lists(
        st.text(alphabet=st.one_of(st.sampled_from("derotKatzelowHün ▁<>é"), st.characters(codec="utf-8")), max_size=30)
    )
)
def test_without_dropout_the_ids_are_sentencepieces(model: Model, lines: list[str]) -> None:
    processor, dropout = model
    assert dropout.encode([*LINES, *lines], 0.0, seed=1) == [processor.encode(line) for line in [*LINES, *lines]]


def test_all_merges_dropped_leaves_characters(model: Model) -> None:
    processor, dropout = model
    (ids,) = dropout.encode(["der Katze"], 1 - 1e-12, seed=1)
    assert [processor.id_to_piece(i) for i in ids] == list("▁der▁Katze")


def algorithm_1(
    symbols: list[str], priority: Callable[[str], float | None], p: float, draw: Callable[[], float]
) -> str:
    """The paper's algorithm 1: drop each possible merge with probability p, apply the best of the others, repeat."""
    while True:
        merges = [(priority(a + b), i) for i, (a, b) in enumerate(itertools.pairwise(symbols))]
        merges = [(rank, i) for rank, i in merges if rank is not None and draw() >= p]
        if not merges:
            return " ".join(symbols)
        at = min(merges)[1]
        symbols = [*symbols[:at], symbols[at] + symbols[at + 1], *symbols[at + 2 :]]


def test_segmentations_are_drawn_as_by_the_paper(model: Model) -> None:
    """The same distribution over the segmentations of a word, drawn 4,000 times by each."""
    processor, dropout = model
    known = {processor.id_to_piece(i): -processor.get_score(i) for i in range(processor.get_piece_size())}
    draws = iter(random.Random(0).random, None)
    expected = Counter(algorithm_1(list("▁rote"), known.get, 0.3, draws.__next__) for _ in range(4_000))
    found = Counter(
        " ".join(processor.id_to_piece(i) for i in ids) for ids in dropout.encode(["rote"] * 4_000, 0.3, seed=2)
    )
    assert len(expected) > 3
    for segmentation in expected | found:
        assert found[segmentation] / 4_000 == pytest.approx(expected[segmentation] / 4_000, abs=0.04)


def test_text_grows_less_than_by_sentencepieces_variant(model: Model) -> None:
    """SentencePiece's, which never offers a dropped merge again, makes more pieces at the same probability."""
    processor, dropout = model
    lines = LINES * 25
    plain, ours = (sum(map(len, dropout.encode(lines, p, seed=1))) for p in (0.0, 0.1))
    theirs = sum(len(processor.encode(line, enable_sampling=True, alpha=0.1, nbest_size=-1)) for line in lines)
    assert plain < ours < theirs
