"""Heads that are switched off: the same as masking their contexts by other means, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from conftest import build_model, random_batch
from torch import Tensor, nn

from triptych.contract.batch import Prediction
from triptych.contract.model import TranslationModel
from triptych.decoding.batches import decode
from triptych.decoding.search import Search
from triptych.layers.ablation import ablate_heads
from triptych.layers.attention import MultiHeadAttention
from triptych.layers.convolution_decoder import StepAttention
from triptych.layers.recording import RecordableAttention, record_attention
from triptych.layers.rnn_attention import RNNAttention

BATCH = random_batch([(5, 4), (2, 6), (7, 3)])
SOURCES = [[7, 8, 9, 10], [11, 12]]
SEARCH = Search(
    beam_size=3, length_penalty=0.6, max_length_ratio=1.0, max_length_extra=5, min_length=0, stop="exact", n_best=2
)


def mask_by_weights(attention: RecordableAttention, head: int) -> Callable[[], None]:
    """Mask a head by its parameters or by a hook, without the masks of ``ablate_heads``; return what undoes it."""
    if isinstance(attention, MultiHeadAttention):  # the columns of W^O that read the head are zero
        kept = attention.output.weight.detach().clone()
        with torch.no_grad():
            attention.output.weight[:, head * attention.d_v : (head + 1) * attention.d_v] = 0
        return lambda: attention.output.weight.data.copy_(kept)
    if isinstance(attention, RNNAttention):
        return attention.register_forward_hook(lambda _, __, found: (found[0] * 0, found[1])).remove
    assert isinstance(attention, StepAttention)  # W c + b is b where c is zero

    def bias(module: nn.Module, given: object, found: Tensor) -> Tensor:
        return attention.context.bias.expand_as(found)

    return attention.context.register_forward_hook(bias).remove


def attentions(model: TranslationModel, name: str) -> list[RecordableAttention]:
    return [one for one in model.modules() if isinstance(one, RecordableAttention) and one.name == name]


@pytest.mark.parametrize(
    ("overrides", "name", "layer", "head"),
    [
        ("transformer model.encoder_layers=2", "encoder", 1, 2),
        ("transformer model.decoder_layers=2", "decoder", 0, 3),
        ("transformer model.decoder_layers=2 model.d_v=5", "cross", 1, 0),
        ("lm4mt", "sequence", 1, 1),
        ("lm4mt model.source_attention=bidirectional", "sequence", 0, 3),
        ("rnn_bahdanau", "cross", 0, 0),
        ("rnn_luong", "cross", 0, 0),
        ("rnn_luong model.input_feeding=true", "cross", 0, 0),
        ("convs2s model.decoder_layers=2", "cross", 1, 0),
        ("hybrid model/encoder=transformer model/decoder=rnn", "encoder", 0, 1),
    ],
)
@torch.no_grad()
def test_a_head_switched_off_is_a_masked_head(overrides: str, name: str, layer: int, head: int) -> None:
    model = build_model(*f"model={overrides}".split())
    attention = attentions(model, name)[layer]
    heads = getattr(attention, "num_heads", 1)
    xi = torch.ones(heads)
    xi[head] = 0
    masks = {name: {layer: xi}}
    whole, translations = model(BATCH).hidden, decode(model, SOURCES, SEARCH, 100, "cpu")
    with ablate_heads(model, masks):
        ablated, ablated_translations = model(BATCH).hidden, decode(model, SOURCES, SEARCH, 100, "cpu")
        with record_attention(model) as weights:
            recorded = model(BATCH).hidden
    assert weights[name][layer][:, head].sum() > 0, "the weights of a head that is off are still the model's"
    undo = mask_by_weights(attention, head)
    torch.testing.assert_close(ablated, model(BATCH).hidden, rtol=0, atol=1e-10)
    torch.testing.assert_close(recorded, ablated, rtol=0, atol=1e-10)
    expected = decode(model, SOURCES, SEARCH, 100, "cpu")
    assert [[one.tokens for one in found] for found in ablated_translations] == [
        [one.tokens for one in found] for found in expected
    ]
    undo()
    assert (ablated - whole).abs().max() > 1e-6
    assert torch.equal(model(BATCH).hidden, whole)
    assert decode(model, SOURCES, SEARCH, 100, "cpu") == translations


def of_targets(prediction: Prediction) -> tuple[Tensor, ...]:
    """The hidden vectors that predict the targets of each of two sentences."""
    return prediction.hidden[prediction.num_source :].chunk(2)


@pytest.mark.parametrize("overrides", ["transformer", "lm4mt", "rnn_bahdanau", "convs2s"])
@torch.no_grad()
def test_each_sentence_of_a_batch_may_have_its_own_mask(overrides: str) -> None:
    model = build_model(f"model={overrides}")
    name = "sequence" if overrides == "lm4mt" else "cross"
    heads = getattr(attentions(model, name)[0], "num_heads", 1)
    batch = random_batch([(5, 4)] * 2)
    xi = torch.ones(2, heads)
    xi[1, 0] = 0
    with ablate_heads(model, {name: {0: xi}}):
        both = of_targets(model(batch))
    with ablate_heads(model, {name: {0: xi[1]}}):
        off = of_targets(model(batch))
    on = of_targets(model(batch))
    torch.testing.assert_close(both[0], on[0])
    torch.testing.assert_close(both[1], off[1])
    assert not torch.allclose(off[1], on[1])


def test_other_models_keep_their_heads_and_an_error_leaves_nothing_behind() -> None:
    model, other = build_model("model=transformer"), build_model("model=transformer")
    whole = model(BATCH).hidden

    def fail() -> None:
        with ablate_heads(model, {"cross": {0: torch.zeros(4)}}):
            assert not torch.equal(model(BATCH).hidden, whole)
            assert torch.equal(other(BATCH).hidden, whole)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert torch.equal(model(BATCH).hidden, whole)


@torch.no_grad()
@pytest.mark.slow
def test_what_is_compiled_loses_its_heads_too() -> None:
    model = build_model("model=transformer")
    masks = {"encoder": {0: torch.tensor([1.0, 0, 1, 1])}}
    with ablate_heads(model, masks):
        expected = model(BATCH).hidden
    torch._dynamo.reset()
    model.compile(backend="eager", dynamic=True)
    whole = model(BATCH).hidden
    with ablate_heads(model, masks):
        torch.testing.assert_close(model(BATCH).hidden, expected)
    torch.testing.assert_close(model(BATCH).hidden, whole)
    torch._dynamo.reset()
