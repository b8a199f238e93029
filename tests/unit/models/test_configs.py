"""Constructors take the flat keys of a YAML, and refuse others."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest
from conftest import VOCABULARY, compose_train

from triptych.config.types import check_types
from triptych.errors import UserError
from triptych.layers.blocks import Block
from triptych.models.convs2s import ConvS2S, ConvS2SConfig
from triptych.models.lm4mt import LM4MT, LM4MTConfig
from triptych.models.rnn import RNN, RNNConfig
from triptych.models.transformer import EncoderDecoderConfig, Transformer

MODELS = [
    ("transformer", Transformer, EncoderDecoderConfig),
    ("rnn", RNN, RNNConfig),
    ("lm4mt", LM4MT, LM4MTConfig),
    ("convs2s", ConvS2S, ConvS2SConfig),
]


@pytest.mark.parametrize(("name", "model", "config"), MODELS)
def test_flat_keys_are_the_fields(name: str, model: type, config: type) -> None:
    flat = {key: value for key, value in compose_train("scale=smoke", f"model={name}").model.items() if key[0] != "_"}
    assert set(flat) == {field.name for field in fields(config)}
    assert set(inspect.signature(model).parameters) == {*flat, "vocabulary"}
    built, same = model(**flat, vocabulary=VOCABULARY), model(config(**flat), vocabulary=VOCABULARY)
    assert built.state_dict().keys() == same.state_dict().keys()
    with pytest.raises(TypeError, match="'colour'"):
        model(**flat, colour=3, vocabulary=VOCABULARY)
    with pytest.raises(TypeError, match="'tying'"):
        model(**{key: value for key, value in flat.items() if key != "tying"}, vocabulary=VOCABULARY)
    with pytest.raises(TypeError, match="'vocabulary'"):
        model(**flat)


@pytest.mark.parametrize(("name", "model", "config"), MODELS)
def test_types_are_those_of_the_fields(name: str, model: type, config: type) -> None:
    with pytest.raises(UserError, match=r"^model\.dropout=high must be a number\.$"):
        check_types(compose_train(f"model={name}", "model.dropout=high").model, "model.")


def test_forward_is_short_and_blocks_take_one_thing_beside_the_tokens() -> None:
    assert all(len(inspect.getsource(model.forward).splitlines()) <= 25 for _, model, _ in MODELS)
    assert len(inspect.getsource(Transformer.forward).splitlines()) <= 15
    assert list(inspect.signature(Block.forward).parameters) == ["self", "x", "layout", "kv_cache", "memory"]
