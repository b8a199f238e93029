"""The translator: text in, translations, scores and attention out, without a run's folder."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

import pytest
import torch
from conftest import build_model

from triptych.contract.batch import Batch
from triptych.contract.vocabulary import EOS, LanguageTags
from triptych.data.directions import Directions
from triptych.data.tokenizer import SentencePieceTrainer, Tokenizer
from triptych.decoding.batches import decode
from triptych.decoding.search import Search
from triptych.decoding.translator import Translator
from triptych.errors import UserError

SOURCES = ["a cat sleeps", "", "the dog sees a bird", "  ", "a bird"]
TARGETS = ["un chat dort", "rien", "le chien voit un oiseau", "", "un oiseau"]
GREEDY = Search(
    beam_size=1, length_penalty=0.0, max_length_ratio=1.0, max_length_extra=3, min_length=0, stop="exact", n_best=1
)
BEAM = Search(
    beam_size=4, length_penalty=0.6, max_length_ratio=1.0, max_length_extra=3, min_length=0, stop="exact", n_best=3
)


class Text:
    languages = ("en", "fr")
    splits: ClassVar = {"train": (SOURCES, TARGETS)}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    trainer = SentencePieceTrainer(algorithm="char", joint=True, byte_fallback=False, train_lines=None)
    return trainer.fit(Text(), tmp_path_factory.mktemp("cache"))


def build(tokenizer: Tokenizer, model: str, *overrides: str, directions: list[str] | None = None) -> Translator:
    built = build_model(f"model={model}", *overrides, vocabulary=tokenizer.vocabulary).float()
    return Translator(
        model=built, tokenizer=tokenizer, directions=Directions.of(directions, "en", "fr", None), search=GREEDY
    )


@pytest.fixture(scope="module", params=["rnn_luong", "transformer", "lm4mt"])
def translator(request: pytest.FixtureRequest, tokenizer: Tokenizer) -> Translator:
    return build(tokenizer, request.param)


def test_a_line_that_is_no_sentence_is_refused(translator: Translator) -> None:
    """One of megabytes took the processor for hours, and no signal ended it."""
    for call in (translator.translate, lambda lines: translator.score(lines, ["x"]), translator.attention):
        with pytest.raises(UserError, match=r"the line 'a cata cat.* …' has 50,001 pieces, and at most 10,000 are"):
            call(["a cat" * 10_000])


def test_translations_are_those_of_the_search_and_empty_lines_stay_empty(translator: Translator) -> None:
    tokenizer = translator.tokenizer
    filled = [line for line in SOURCES if line.strip()]
    found = decode(translator.model, tokenizer.encode(filled, "src"), GREEDY, 100, "cpu")
    texts = iter(tokenizer.decode([hypotheses[0].tokens for hypotheses in found], "tgt"))
    expected = [next(texts) if line.strip() else "" for line in SOURCES]
    assert translator.translate(SOURCES) == expected
    assert translator.translate(iter(SOURCES), search_tokens=30) == expected
    assert translator.translate([]) == []


def test_several_length_penalties_give_the_translations_of_each(translator: Translator) -> None:
    penalties = [0.0, 3.0]
    each = [translator.best(SOURCES, BEAM.with_length_penalty(penalty)) for penalty in penalties]
    assert translator.best_by_penalty(iter(SOURCES), penalties, BEAM) == each
    assert each[0] != each[1]
    assert translator.best_by_penalty([], penalties, BEAM) == [[], []]


def test_n_best_takes_another_search(translator: Translator) -> None:
    found = translator.n_best(SOURCES, BEAM)
    assert [len(hypotheses) for hypotheses in found] == [3, 0, 3, 0, 3]
    for hypotheses in found:
        scores = [score for _, score in hypotheses]
        assert scores == sorted(scores, reverse=True)
    assert translator.translate(SOURCES, BEAM) == [best[0][0] if best else "" for best in found]


@torch.no_grad()
def test_scores_are_log_probabilities_of_the_model(translator: Translator) -> None:
    tokenizer, expected = translator.tokenizer, []
    for src, tgt in zip(SOURCES, TARGETS, strict=True):
        state = translator.model.start(
            torch.tensor([[*tokenizer.encode([src], "src")[0], EOS]]),
            torch.tensor([len(tokenizer.encode([src], "src")[0]) + 1]),
        )
        ids, total = [LanguageTags().tgt_begin, *tokenizer.encode([tgt], "tgt")[0], EOS], 0.0
        for token, following in pairwise(ids):
            logits, state = translator.model.step(torch.tensor([token]), state)
            total += float(logits[0].log_softmax(0)[following])
        expected.append(total)
    assert translator.score(SOURCES, TARGETS) == pytest.approx(expected, abs=1e-3)
    assert translator.score(SOURCES, TARGETS, search_tokens=1) == pytest.approx(expected, abs=1e-3)
    assert translator.score([], []) == []


def test_attention_is_that_of_the_given_pairs(translator: Translator) -> None:
    tokenizer = translator.tokenizer
    batch = Batch.from_ids(tokenizer.encode(SOURCES, "src"), tokenizer.encode(TARGETS, "tgt"))
    with torch.no_grad():
        expected = translator.model.attention_maps(batch)
    found = translator.attention(SOURCES, TARGETS)
    assert [one.name for one in found] == [one.name for one in expected]
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.equal(ours.weights, theirs.weights)
        assert torch.equal(ours.query_ids, theirs.query_ids)
    assert translator.attention([]) == []


def test_attention_translates_first_where_no_targets_are_given(translator: Translator) -> None:
    tokens = [best[0].tokens if best else [] for best in translator.hypotheses(SOURCES, BEAM)]
    batch = Batch.from_ids(translator.tokenizer.encode(SOURCES, "src"), tokens)
    with torch.no_grad():
        expected = translator.model.attention_maps(batch)
    for ours, theirs in zip(translator.attention(SOURCES, search=BEAM), expected, strict=True):
        assert torch.equal(ours.weights, theirs.weights)


def test_dropout_is_off_also_where_the_model_trains(tokenizer: Tokenizer) -> None:
    translator = build(tokenizer, "transformer", "model.dropout=0.5")
    quiet = translator.score(SOURCES, TARGETS), translator.attention(SOURCES, TARGETS)[0].weights
    translator.model.train()
    assert translator.score(SOURCES, TARGETS) == quiet[0]
    assert torch.equal(translator.attention(SOURCES, TARGETS)[0].weights, quiet[1])
    assert translator.model.training


def test_a_model_without_attention_has_no_maps(tokenizer: Tokenizer) -> None:
    assert build(tokenizer, "rnn_none").attention(["a cat"], ["un chat"]) == []


def test_tags_are_those_of_the_direction(tokenizer: Tokenizer) -> None:
    assert build(tokenizer, "rnn_luong").tags() == LanguageTags()
    both = build(tokenizer, "rnn_luong", directions=["en-fr", "fr-en"])
    en, fr = tokenizer.tag("en"), tokenizer.tag("fr")
    assert both.tags() == LanguageTags(en, fr)
    assert both.tags(("fr", "en")) == LanguageTags(fr, en)
    with pytest.raises(UserError, match="src=de"):
        both.tags(("de", "en"))


def test_a_string_is_no_list_of_lines(translator: Translator) -> None:
    for call in (translator.translate, translator.n_best, translator.attention):
        with pytest.raises(UserError, match=r"the lines must be a list, not one string; give \['a cat'\]"):
            call("a cat")
    for call in (translator.score, translator.attention):
        with pytest.raises(UserError, match="2 sources and 1 targets"):
            call(["a", "b"], ["a"])


def test_a_translation_is_one_line(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = build(tokenizer, "transformer")
    monkeypatch.setattr(Tokenizer, "decode", lambda self, ids, side: ["two\nlines"] * len(ids))
    assert translator.translate(["a cat"]) == ["two lines"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([None], "line 1 is None, and no text"),
        (["a", 3], "line 2 is 3, and no text"),
        (["a\nbird"], "line 1 has a line break"),
        (["a \udc80"], "line 1 has half a character"),
        ("a bird", "must be a list, not one string"),
    ],
)
def test_what_is_no_line_of_text_is_named(lines: list[str], said: str, translator: Translator) -> None:
    with pytest.raises(UserError, match=said):
        translator.translate(lines)
    with pytest.raises(UserError, match=said):
        translator.score(lines, lines)


def test_a_direction_is_two_languages(translator: Translator) -> None:
    for direction in ("en-fr", ("en",)):
        with pytest.raises(UserError, match="must be the two languages"):
            translator.translate(["a bird"], direction=direction)  # type: ignore[arg-type]


def test_a_model_that_diverged_scores_nothing(tokenizer: Tokenizer) -> None:
    diverged = build(tokenizer, "rnn_luong")
    for parameter in diverged.model.parameters():
        parameter.data.fill_(float("nan"))
    with pytest.raises(UserError, match="training has diverged"):
        diverged.score(["a bird"], ["un oiseau"])
