"""Pieces are grouped into words, and weights between words are sums over keys and means over queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.attention.words import Tokens, between_words, tokens_of
from triptych.contract.vocabulary import BOS, EOS, UNK
from triptych.data.tokenizer import SRC_TAG


class SpelledTokenizer:
    """Pieces that stand for their own ids, after the special ones of two languages."""

    languages = ("en", "fr")

    def __init__(self, pieces: Sequence[str]) -> None:
        self.all = ["<pad>", "<unk>", "<s>", "</s>", "<en>", "<fr>", *pieces]

    def pieces(self, ids: Sequence[int], side: str) -> list[str]:
        return [self.all[one] for one in ids]

    def decode(self, rows: Sequence[Sequence[int]], side: str) -> list[str]:
        shown = [[" ⁇ " if one == UNK else self.all[one] for one in row if one in (UNK, *range(6, 99))] for row in rows]
        return ["".join(row).replace("▁", " ").removeprefix(" ") for row in shown]


def group(pieces: Sequence[str], before: Sequence[int] = (), after: Sequence[int] = ()) -> Tokens:
    tokenizer = SpelledTokenizer(pieces)
    ids = [*before, *range(6, 6 + len(pieces)), *after]
    return tokens_of(ids, "src", tokenizer)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pieces", "words", "starts"),
    [
        (["▁The", "▁c", "at", "."], ["The", "cat", "."], [0, 1, 3]),
        (["▁l", "'", "homme", "▁dort"], ["l'homme", "dort"], [0, 3]),
        (["▁", "a", "b", "▁", "c"], ["ab", "c"], [0, 3]),
        (["▁(", "a", ")", ".", "▁«"], ["(", "a", ").", "«"], [0, 1, 2, 4]),
        (["▁", '"', "Oh", "!"], ['"', "Oh", "!"], [0, 2, 3]),
        (["▁...", "▁"], ["...", "▁"], [0, 1]),
    ],
)
def test_words_are_what_stands_between_spaces_without_its_punctuation(
    pieces: list[str], words: list[str], starts: list[int]
) -> None:
    found = group(pieces)
    assert (found.pieces, found.words, found.starts) == (pieces, words, starts)


def test_special_tokens_are_words_of_their_own_and_unknown_characters_are_not() -> None:
    found = group(["▁a", "b"], before=[SRC_TAG, BOS], after=[UNK, EOS])
    assert found.words == ["<en>", "<s>", "ab ⁇", "</s>"]
    assert found.starts == [0, 1, 2, 5]
    assert group(["a", "b"], before=[BOS]).words == ["<s>", "ab"], "text begins anew after a special token"


def test_weights_between_words_by_hand() -> None:
    """Two queries of one word, one of another; three keys of which the last two are one word."""
    queries = Tokens([0, 1, 2], list("abc"), ["ab", "c"], [0, 2])
    keys = Tokens([0, 1, 2], list("xyz"), ["x", "yz"], [0, 1])
    weights = np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0.0, 0.6, 0.4]], dtype=np.float32)
    np.testing.assert_allclose(between_words(weights, queries, keys), [[0.3, 0.7], [0.0, 1.0]], atol=1e-7)


@given(st.lists(st.sampled_from(["▁a", "b", ".", "▁", "'"]), min_size=1), st.integers(0, 2**32 - 1))
def test_rows_of_words_sum_to_one_as_those_of_pieces_do(pieces: list[str], seed: int) -> None:
    tokens = group(pieces)
    assert tokens.starts[0] == 0
    assert tokens.starts == sorted(set(tokens.starts))
    assert len(tokens.starts) == len(tokens.words)
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(pieces)), (2, 3, len(pieces))).astype(np.float32)
    np.testing.assert_allclose(between_words(weights, tokens, tokens).sum(-1), 1, atol=1e-5)
