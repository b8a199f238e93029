"""The page of attention of a translation that a search has found."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

import triptych
from triptych.errors import UserError
from triptych.serving.drawn_attention import MOST_PIECES, AttentionPages

SENTENCE = "The schools that I showed him are not new."


@pytest.fixture(scope="module")
def attend() -> AttentionPages:
    translator = triptych.load("demo:transformer").translator
    return AttentionPages(translator, "<i>mine</i>", translator.search.with_beam(4, 4), ("en", "fr"))


def pair_of(page: str) -> dict[str, Any]:
    (data,) = re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)
    (column,) = json.loads(data)["columns"]
    assert column["name"] == "<i>mine</i>"
    return column["pairs"][0]


def test_each_translation_is_drawn_with_its_own_score(attend: AttentionPages) -> None:
    search = attend.translator.search.with_beam(4, 4)
    (found,) = attend.translator.hypotheses([SENTENCE], search)
    assert len(found) == 4
    for one in found:
        pair = pair_of(attend(SENTENCE, attend.translator.text_of(one)))
        assert (pair["source"], pair["target"]) == (SENTENCE, attend.translator.text_of(one))
        assert pair["score"] == pytest.approx(one.log_probability, abs=1e-3)
    assert attend(SENTENCE, None) == attend(SENTENCE, attend.translator.text_of(found[0]))


def test_the_pieces_are_those_that_the_model_wrote(attend: AttentionPages, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model may write a text in other pieces than the tokenizer does."""
    tokenizer = attend.translator.tokenizer
    ids = {piece: i for i, piece in enumerate(tokenizer.pieces(range(tokenizer.vocabulary.tgt_size), "tgt"))}
    (found,) = attend.translator.hypotheses([SENTENCE], attend.search)
    best = found[0]
    place, parts = next(
        (place, [ids[piece[:cut]], ids[piece[cut:]]])
        for place, piece in enumerate(tokenizer.pieces(best.tokens, "tgt"))
        for cut in range(1, len(piece))
        if piece[:cut] in ids and piece[cut:] in ids
    )
    spelled = replace(best, tokens=[*best.tokens[:place], *parts, *best.tokens[place + 1 :]])
    text = attend.translator.text_of(spelled)
    assert text == attend.translator.text_of(best)
    monkeypatch.setattr(attend.translator, "hypotheses", lambda *_, **__: [[spelled]])
    queries = pair_of(attend(SENTENCE, text))["views"][0]["queries"]["pieces"]
    assert queries == [*tokenizer.pieces(spelled.tokens, "tgt"), "</s>"]


def test_a_translation_of_ones_own_is_drawn(attend: AttentionPages) -> None:
    pair = pair_of(attend(SENTENCE, "Le chien voit le chat."))
    assert pair["target"] == "Le chien voit le chat."
    assert pair["score"] == pytest.approx(attend.translator.score([SENTENCE], ["Le chien voit le chat."])[0], abs=1e-3)
    assert pair_of(attend(SENTENCE, ""))["target"] == ""


def test_a_model_without_attention_has_none(attend: AttentionPages, monkeypatch: pytest.MonkeyPatch) -> None:
    assert attend.has_attention()
    monkeypatch.setattr(attend.translator.model, "attention_maps", lambda batch: [])
    assert not attend.has_attention()


def test_too_many_pieces_are_refused(attend: AttentionPages) -> None:
    for pair in [("cat " * (MOST_PIECES + 1), "chat"), ("cat", "chat " * (MOST_PIECES + 1))]:
        with pytest.raises(UserError, match=r"has 1\d\d pieces, and attention is drawn over at most 128\."):
            attend(*pair)
