"""Recorded attention weights: whose they are, in what order, and that nothing is left behind."""

from __future__ import annotations

import pytest
import torch
from conftest import build_model, random_batch

from triptych.layers.recording import RecordableAttention, record_attention

BATCH = random_batch([(5, 4), (2, 6), (7, 3)])


@pytest.mark.parametrize(
    ("overrides", "names"),
    [
        ("transformer model.encoder_layers=2", {"encoder": 2, "decoder": 1, "cross": 1}),
        ("lm4mt", {"sequence": 2}),
        ("rnn_luong", {"cross": 1}),
        ("rnn_luong model.input_feeding=true", {"cross": 1}),
        ("rnn_bahdanau", {"cross": 1}),
        ("rnn_none", {}),
        ("convs2s model.decoder_layers=2", {"cross": 2}),
        ("hybrid", {"decoder": 1, "cross": 1}),
        ("hybrid model/encoder=transformer model/decoder=rnn", {"encoder": 1, "cross": 1}),
    ],
)
def test_every_layer_is_recorded_by_its_name(overrides: str, names: dict[str, int]) -> None:
    model = build_model(*f"model={overrides}".split())
    with record_attention(model) as weights:
        prediction = model(BATCH)
    assert {name: len(layers) for name, layers in weights.items()} == names
    for layers in weights.values():
        for layer in layers:
            assert layer.dim() == 4
            assert layer.shape[0] == len(BATCH)
            assert not layer.requires_grad
    torch.testing.assert_close(prediction.hidden, model(BATCH).hidden)


def test_layers_come_in_their_order() -> None:
    model = build_model("model=transformer", "model.encoder_layers=3")
    found = []
    attentions = [block.self_attention for block in model.encoder]  # type: ignore
    for attention in attentions:
        with record_attention(attention) as weights:
            model(BATCH)
        found += weights["encoder"]
    with record_attention(model) as weights:
        model(BATCH)
    assert all(torch.equal(one, other) for one, other in zip(weights["encoder"], found, strict=True))


def test_other_models_are_not_recorded() -> None:
    model, other = build_model("model=transformer"), build_model("model=lm4mt")
    with record_attention(model) as weights:
        other(BATCH)
        with record_attention(other) as inner:
            model(BATCH)
    assert {name: len(layers) for name, layers in weights.items()} == {"encoder": 1, "decoder": 1, "cross": 1}
    assert inner == {"sequence": []}


def test_an_error_inside_leaves_nothing_behind() -> None:
    model = build_model("model=transformer")
    attentions = [module for module in model.modules() if isinstance(module, RecordableAttention)]

    def fail() -> None:
        with record_attention(model):
            assert all(attention.is_recorded() for attention in attentions)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not any(attention.is_recorded() for attention in attentions)
    with record_attention(model) as weights:
        pass
    model(BATCH)
    assert not any(weights.values())


@pytest.mark.slow
def test_what_is_compiled_is_recorded_too() -> None:
    model = build_model("model=transformer")
    with record_attention(model) as expected:
        model(BATCH)
    torch._dynamo.reset()
    model.compile(backend="eager", dynamic=True)
    compiled = model(BATCH).hidden
    with record_attention(model) as weights:
        model(BATCH)
    torch.testing.assert_close(weights, expected)
    torch.testing.assert_close(model(BATCH).hidden, compiled)
    torch._dynamo.reset()
