"""Attention of small models: what it holds, what the page draws, and what changes without a head."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from conftest import build_model

from triptych.attention.content import decode_weights, encode_weights, mark_changes
from triptych.attention.explorer import Attention
from triptych.attention.terminal import describe
from triptych.attention.words import between_words
from triptych.contract.model import AttentionMap
from triptych.data.directions import Directions
from triptych.data.tokenizer import SentencePieceTrainer, Tokenizer
from triptych.decoding.search import Search
from triptych.decoding.translator import Translator
from triptych.errors import UserError
from triptych.layers.attention import MultiHeadAttention
from triptych.layers.recording import recordable_attentions
from triptych.layers.rnn_attention import RNNAttention

SOURCES = ["a cat sleeps", "the dog sees a bird"]
TARGETS = ["un chat dort", "le chien voit un oiseau"]
GREEDY = Search(
    beam_size=1, length_penalty=0.0, max_length_ratio=1.0, max_length_extra=3, min_length=0, stop="exact", n_best=1
)
MODELS = ["transformer", "lm4mt", "rnn_bahdanau", "convs2s"]
AXES = ("queries", "keys")
KINDS = {
    "transformer": ["cross", "encoder", "decoder"],
    "lm4mt": ["cross", "sequence"],
    "rnn_bahdanau": ["cross"],
    "convs2s": ["cross"],
}


class Text:
    languages = ("en", "fr")
    splits: ClassVar = {"train": ([*SOURCES, "</script><b>&amp;"], [*TARGETS, "</script><b>&amp;"])}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    trainer = SentencePieceTrainer(algorithm="char", joint=True, byte_fallback=False, train_lines=None)
    return trainer.fit(Text(), tmp_path_factory.mktemp("cache"))


def translator_of(tokenizer: Tokenizer, model: str, *overrides: str) -> Translator:
    built = build_model(f"model={model}", *overrides, vocabulary=tokenizer.vocabulary).float()
    directions = Directions.of(None, "en", "fr", None)
    return Translator(model=built, tokenizer=tokenizer, directions=directions, search=GREEDY)


def attention_of(translator: Translator, name: str, src: list[str], tgt: list[str] | None = None) -> Attention:
    return Attention(translator, name, *translator.pair_ids(src, tgt))


@pytest.fixture(params=MODELS)
def attention(request: pytest.FixtureRequest, tokenizer: Tokenizer) -> Attention:
    return attention_of(translator_of(tokenizer, request.param), request.param, SOURCES, TARGETS)


def data_of(page: str) -> dict[str, Any]:
    """The JSON that a page draws."""
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(found)


def of_pair(one: AttentionMap, index: int, queries: int, keys: int) -> np.ndarray:
    return one.weights[index, :, :, :queries, :keys].numpy()


def test_it_is_a_list_of_the_model_s_maps(attention: Attention) -> None:
    expected = attention.translator.attention(SOURCES, TARGETS)
    assert [one.name for one in attention] == [one.name for one in expected]
    assert all(torch.equal(ours.weights, theirs.weights) for ours, theirs in zip(attention, expected, strict=True))
    assert attention[0].name == expected[0].name
    assert attention.scores == pytest.approx(attention.translator.score(SOURCES, TARGETS))
    assert (attention.source_texts, attention.target_texts) == (SOURCES, TARGETS)


def test_the_page_draws_the_model_s_weights(attention: Attention) -> None:
    """Every weight of every kind, layer and head, within 1e-4; a part of a sequence by its place in the whole."""
    data, kinds = data_of(attention.html()), KINDS[attention.name]
    assert [*data["kinds"]] == kinds
    maps = {one.name: one for one in attention}
    for index, pair in enumerate(data["columns"][0]["pairs"]):
        assert [view["kind"] for view in pair["views"]] == kinds
        source, target = len(attention.sources[index]) + 1, len(attention.targets[index]) + 1
        sizes = {"src": source, "tgt": target, "joint": source + target}
        for view in pair["views"]:
            one = maps[view["source"]]
            if "part_of" in view:
                whole = decode_weights(pair["views"][view["part_of"]])
                query, key = view["first"]
                drawn = whole[:, :, query : query + target, key : key + source]
                expected = of_pair(one, index, source + target, source)[:, :, source:]
            else:
                drawn = decode_weights(view)
                expected = of_pair(one, index, sizes[one.query_side], sizes[one.key_side])
            assert drawn.shape == expected.shape == (*drawn.shape[:2], *(len(view[k]["pieces"]) for k in AXES))
            assert np.abs(drawn - expected).max() < 1e-4


def test_rows_from_target_to_source_are_named_by_what_is_written(attention: Attention) -> None:
    view = next(view for view in attention.views(0) if view.kind == "cross")
    assert "".join(view.queries.pieces) == "▁un▁chat▁dort</s>"
    assert view.queries.words == ["un", "chat", "dort", "</s>"]
    assert [word for word in view.keys.words if not word.startswith("<")] == ["a", "cat", "sleeps"]
    assert view.words().shape[-2:] == (len(view.queries.words), len(view.keys.words))
    assert np.array_equal(view.words(), between_words(view.weights, view.queries, view.keys))


def test_the_end_of_the_source_is_where_it_has_an_end(tokenizer: Tokenizer) -> None:
    ends = {
        (model, view.kind): [view.keys.pieces[at] for at in view.end]
        for model, *overrides in (["transformer"], ["lm4mt"], ["lm4mt", "model.language_tags=false"])
        for view in attention_of(translator_of(tokenizer, model, *overrides), model, SOURCES, TARGETS).views(1)
    }
    assert ends["transformer", "encoder"] == ends["transformer", "cross"] == ["</s>"]
    assert ends["transformer", "decoder"] == []
    assert ends["lm4mt", "cross"] == ["</s>"], "without tags, which came last, the source ends in </s>"


def test_markup_in_a_sentence_stays_text(tokenizer: Tokenizer) -> None:
    sentence = "</script><b>&amp;"
    page = attention_of(translator_of(tokenizer, "transformer"), "<i>", [sentence], [sentence]).html()
    assert data_of(page)["columns"][0]["pairs"][0]["source"] == sentence
    assert data_of(page)["columns"][0]["name"] == "<i>"
    assert f"<title>Attention: {html.escape(sentence)}</title>" in page
    assert "<b>&" not in page
    assert page.count("</script>") == 2
    assert not re.findall(r'(?:src|href)=(?!"data:,")|https?://|@import|url\(', page), "a page needs no other file"


def mask_by_parameters(translator: Translator, name: str, layer: int, head: int) -> None:
    """Mask a head by other means than the package's: W^O does not read it, or a hook returns zeros."""
    attention = recordable_attentions(translator.model)[name][layer]
    if isinstance(attention, MultiHeadAttention):
        with torch.no_grad():
            attention.output.weight[:, head * attention.d_v : (head + 1) * attention.d_v] = 0
    else:
        assert isinstance(attention, RNNAttention)
        attention.register_forward_hook(lambda _, __, found: (found[0] * 0, found[1]))


@pytest.mark.parametrize(
    ("model", "head", "place"),
    [
        ("transformer", "cross.1.3", ("cross", 0, 2)),
        ("transformer", "encoder.1.1", ("encoder", 0, 0)),
        ("lm4mt", "sequence.2.4", ("sequence", 1, 3)),
        ("rnn_bahdanau", "cross.1.1", ("cross", 0, 0)),
        ("rnn_luong", "cross.1", ("cross", 0, 0)),
    ],
)
def test_without_a_head_it_is_the_masked_model(
    tokenizer: Tokenizer, model: str, head: str, place: tuple[str, int, int]
) -> None:
    whole = attention_of(translator_of(tokenizer, model), model, SOURCES, TARGETS)
    ablated = whole.without(head)
    masked = translator_of(tokenizer, model)
    mask_by_parameters(masked, *place)
    expected = masked.score(SOURCES, TARGETS)
    assert ablated.scores == pytest.approx(expected, abs=1e-5)
    assert ablated.changes == pytest.approx([b - a for a, b in zip(whole.scores, expected, strict=True)], abs=1e-5)
    assert ablated.translations == masked.translate(SOURCES)
    for ours, theirs in zip(ablated, masked.attention(SOURCES, TARGETS), strict=True):
        torch.testing.assert_close(ours.weights, theirs.weights, atol=1e-5, rtol=0)
    name, layer, number = place
    for effects, change in zip(whole.effects, ablated.changes, strict=True):
        assert effects[name][layer, number] == pytest.approx(change, abs=1e-4)
    assert whole.scores == pytest.approx(whole.translator.score(SOURCES, TARGETS)), "all heads are on again"


def test_a_whole_layer_and_several_heads(tokenizer: Tokenizer) -> None:
    translator = translator_of(tokenizer, "transformer")
    whole = attention_of(translator, "x", SOURCES, TARGETS)
    layer, heads = whole.without("cross.1"), whole.without(*(f"cross.1.{head}" for head in (1, 2, 3, 4)))
    assert layer.scores == heads.scores
    assert layer.changes[0] != 0
    assert heads.most_needed_head() == min(
        (f"{name}.1.{head + 1}" for name in ("encoder", "decoder") for head in range(4)),
        key=lambda name: layer.whole.effects[0][name.split(".")[0]][0, int(name[-1]) - 1],  # type: ignore[union-attr]
    )


@pytest.mark.parametrize("head", ["cross.2.1", "cross.1.5", "cross.0.1", "cross", "sequence.1", "cross.1.1.1", ""])
def test_a_head_that_is_not_there_is_refused(tokenizer: Tokenizer, head: str) -> None:
    whole = attention_of(translator_of(tokenizer, "transformer"), "mine", SOURCES, TARGETS)
    with pytest.raises(UserError, match=r"is no head or layer of mine; give KIND\.LAYER\.HEAD, at most encoder\.1\.4"):
        whole.without(head)


def test_the_page_of_an_ablation_has_both_and_what_changed(tokenizer: Tokenizer) -> None:
    whole = attention_of(translator_of(tokenizer, "transformer"), "mine", SOURCES, TARGETS)
    ablated = whole.without("cross.1.3")
    columns = data_of(ablated.html())["columns"]
    assert [column["off"] for column in columns] == [[], ["cross.1.3"]]
    for index, pair in enumerate(columns[1]["pairs"]):
        change = pair["ablation"]
        assert change["after"] - change["before"] == pytest.approx(ablated.changes[index])
        assert sum(by for _, by in change["words"]) == pytest.approx(ablated.changes[index], abs=1e-3)
        assert [word for word, _ in change["words"]] == [*TARGETS[index].split(), "</s>"]
        assert [" ".join(word for word, _ in words) for words in change["translations"]] == [
            " ".join(one.translations[index].split()) for one in (whole, ablated)
        ]
    assert any("without cross.1.3" in line for line in describe(ablated))


def test_changed_words_are_those_outside_the_alignment() -> None:
    found = mark_changes(["the", "big", "cat"], ["the", "cat", "sleeps"])
    assert found == [("the", False), ("big", True), ("cat", False)]


def test_models_are_drawn_beside_each_other(tokenizer: Tokenizer, tmp_path: Path) -> None:
    first, second = (attention_of(translator_of(tokenizer, model), model, SOURCES) for model in ("rnn_luong", "lm4mt"))
    path = first.write(tmp_path / "new" / "page.html", second)
    data = data_of(path.read_text(encoding="utf-8"))
    assert [column["name"] for column in data["columns"]] == ["rnn_luong", "lm4mt"]
    assert [*data["kinds"]] == ["cross", "sequence"]
    assert [pair["target"] for pair in data["columns"][1]["pairs"]] == second.translator.translate(SOURCES)
    assert html.escape(first.html()) in first._repr_html_()
    assert html.escape(path.read_text(encoding="utf-8")) in first.beside(second)._repr_html_()


def test_a_model_without_attention_is_refused(tokenizer: Tokenizer) -> None:
    none = attention_of(translator_of(tokenizer, "rnn_none"), "plain", SOURCES, TARGETS)
    assert list(none) == []
    assert "no attention" in none._repr_html_()
    with pytest.raises(UserError, match="plain: there is no attention"):
        none.html()
    with pytest.raises(UserError, match="none that can be switched off"):
        none.without("cross.1")


def test_stored_weights_lack_only_what_nothing_looks_at() -> None:
    weights = np.tril(np.random.default_rng(0).random((2, 3, 5, 5))).astype(np.float32)
    stored = encode_weights(weights)
    assert stored["counts"] == [1, 2, 3, 4, 5]
    found = decode_weights({**stored, "layers": 2, "heads": 3, "keys": {"pieces": list("abcde")}})
    assert np.abs(found - weights).max() < 1e-5
