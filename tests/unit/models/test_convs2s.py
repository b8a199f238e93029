"""ConvS2S beyond the contract: one layer and its attention against the paper's formulas, padding, caches, gradients."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from conftest import VOCABULARY, random_batch
from torch import Tensor, nn

from triptych.accounting.parameters import count_parameters
from triptych.contract.batch import Batch
from triptych.errors import UserError
from triptych.layers.convolution import EMBEDDING_STD, GatedConvolution, linear
from triptych.layers.convolution_decoder import StepAttention, scale_gradient
from triptych.layers.recording import record_attention
from triptych.models.convs2s import ConvS2S


def build(**overrides: Any) -> ConvS2S:
    options: dict[str, Any] = {
        "encoder_layers": 2,
        "decoder_layers": 3,
        "embedding_size": 6,
        "hidden_size": 8,
        "kernel_size": 3,
        "positions": "learned",
        "max_length": 20,
        "dropout": 0.0,
        "tying": "none",
    }
    torch.manual_seed(0)
    model = ConvS2S(vocabulary=VOCABULARY, **{**options, **overrides}).double()
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):  # else a forgotten bias would not show
            nn.init.normal_(parameter)
    return model


def plain_convolution(convolution: GatedConvolution, inputs: list[Tensor], i: int, before: int) -> Tensor:
    """v(W X + b) at position i of one sentence, whose window begins ``before`` positions earlier."""
    zero = torch.zeros_like(inputs[0])
    window = [inputs[t] if 0 <= t < len(inputs) else zero for t in range(i - before, i - before + convolution.width)]
    y = convolution.kernel.weight @ torch.cat(window) + convolution.kernel.bias
    a, b = y[: len(zero)], y[len(zero) :]
    return a / (1 + torch.exp(-b))


def plain_attention(attention: StepAttention, h: Tensor, g: Tensor, z: list[Tensor], e: list[Tensor]) -> Tensor:
    """c_i of one position of one sentence: equations 1 and 2, and section 3.4."""
    d = attention.query.weight @ h + attention.query.bias + g
    exponentials = [math.exp(d @ z_j) for z_j in z]
    m = len(z)
    c = sum(a / sum(exponentials) * (z_j + e_j) for a, z_j, e_j in zip(exponentials, z, e, strict=True))
    return attention.context(m * math.sqrt(1 / m) * c)


def plain_hidden(model: ConvS2S, src: list[int], tgt: list[int]) -> Tensor:
    """(T, E) hidden vectors of one pair, position by position."""
    encoder, decoder, half = model.encoder, model.decoder, math.sqrt(0.5)

    def embed(table: nn.Embedding, part: Any, ids: list[int]) -> list[Tensor]:
        words = [table.weight[i] * math.sqrt(table.embedding_dim) * EMBEDDING_STD for i in ids]
        return [word + part.embed.positions.table.weight[t] for t, word in enumerate(words)]

    e, g = embed(model.embeddings.src, encoder, src), embed(model.embeddings.tgt, decoder, tgt)
    z = [encoder.input(e_j) for e_j in e]
    for layer in encoder.layers:
        reach = layer.width // 2
        z = [(plain_convolution(layer, z, j, before=reach) + z[j]) * half for j in range(len(z))]
    z = [encoder.output(z_j) for z_j in z]
    x = [decoder.input(g_i) for g_i in g]
    for layer in decoder.layers:
        convolved = [
            plain_convolution(layer.convolution, x, i, before=layer.convolution.width - 1) for i in range(len(x))
        ]
        h = [(y + x_i) * half for y, x_i in zip(convolved, x, strict=True)]
        x = [(h_i + plain_attention(layer.attention, h_i, g_i, z, e)) * half for h_i, g_i in zip(h, g, strict=True)]
    return torch.stack([decoder.output(x_i) for x_i in x])


@pytest.mark.parametrize("sizes", [{}, {"hidden_size": 6}, {"kernel_size": 5}, {"kernel_size": 1, "decoder_layers": 1}])
@torch.no_grad()
def test_the_model_is_its_formulas(sizes: dict[str, int]) -> None:
    """Sentences of a padded batch, as if each stood alone."""
    model, batch = build(**sizes), random_batch([(5, 4), (2, 6), (7, 3)])
    expected = [
        plain_hidden(model, src[:s], tgt[: t - 1])
        for src, tgt, s, t in zip(
            batch.src.tolist(), batch.tgt.tolist(), batch.src_lengths, batch.tgt_lengths, strict=True
        )
    ]
    torch.testing.assert_close(model(batch).hidden, torch.cat(expected), rtol=1e-10, atol=1e-12)


@torch.no_grad()
def test_a_layer_is_torchs_convolution() -> None:
    layer = build(hidden_size=8, kernel_size=3).encoder.layers[0]
    x = torch.randn(2, 9, 8).double()
    kernel = layer.kernel.weight.view(16, 3, 8).transpose(1, 2)  # (2D, K * D) -> (2D, D, K)
    expected = F.glu(F.conv1d(x.transpose(1, 2), kernel, layer.kernel.bias), dim=1).transpose(1, 2)
    torch.testing.assert_close(layer(x), expected)


def test_rows_for_long_sentences_change_no_size_that_is_matched() -> None:
    short, long = (count_parameters(build(max_length=length)) for length in (20, 200))
    assert long.total - short.total == 2 * 180 * 6
    assert long.non_embedding == short.non_embedding == count_parameters(build(positions="none")).non_embedding


@torch.no_grad()
def test_an_encoder_sees_its_kernels_and_no_further() -> None:
    model = build(kernel_size=3, encoder_layers=2)
    (tokens, layout), _ = model.embed(random_batch([(11, 2)]))
    before = model.encoder(tokens, layout).vectors
    tokens[0, 5] += 1
    changed = (model.encoder(tokens, layout).vectors != before).any(-1).squeeze(0)
    assert changed.nonzero().squeeze(1).tolist() == [3, 4, 5, 6, 7]


@torch.no_grad()
def test_a_step_keeps_the_last_inputs_of_each_layer_alone() -> None:
    model = build(kernel_size=3, decoder_layers=3)
    batch = random_batch([(4, 9)])
    state = model.start(batch.src, batch.src_lengths)
    for token in batch.tgt[:, :-1].unbind(1):
        _, state = model.step(token, state)
        assert {name: tuple(x.shape) for name, x in state.hypothesis.items()} == {
            f"before.{layer}": (1, 2, 8) for layer in range(3)
        }


@torch.no_grad()
def test_one_attention_map_a_layer() -> None:
    model, batch = build(decoder_layers=3), random_batch([(5, 4), (2, 6)])
    (found,) = model.attention_maps(batch)
    assert found.name == "cross"
    assert tuple(found.weights.shape) == (2, 3, 1, 7, 6)
    with record_attention(model.decoder.layers[1]) as weights:
        model(batch)
    assert torch.equal(weights["cross"][0], found.weights[:, 1])


def test_gradients_of_all_attentions_are_averaged_in_the_encoder() -> None:
    x = torch.randn(3, requires_grad=True)
    scaled = scale_gradient(x, 1 / 4)
    assert torch.equal(scaled, x)
    (4 * scaled).sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, torch.ones(3))


def test_the_variance_is_kept() -> None:
    """Section 3.5: of a linear map, of a gated convolution, and with inputs that dropout has made larger."""
    torch.manual_seed(0)
    x = torch.randn(2000, 200)
    assert float(linear(200, 300)(x).var()) == pytest.approx(1, rel=0.05)
    assert float(linear(200, 300, dropout=0.4)(F.dropout(x, 0.4)).var()) == pytest.approx(1, rel=0.05)
    small = linear(200, 300, gain=4)(0.1 * x)  # the gate is nearly linear where its inputs are small
    assert float(F.glu(small).var()) == pytest.approx(0.01, rel=0.05)


def test_dropout_is_for_training_alone(batch: Batch) -> None:
    model = build(dropout=0.5)
    assert not torch.equal(model(batch).hidden, model(batch).hidden)
    model.eval()
    assert torch.equal(model(batch).hidden, model(batch).hidden)


def test_autocast(batch: Batch) -> None:
    model = build().float()
    expected = model(batch).hidden
    with torch.autocast("cpu", torch.bfloat16):
        hidden = model(batch).hidden
        logits, _ = model.step(batch.tgt[:, 0], model.start(batch.src, batch.src_lengths))
    torch.testing.assert_close(hidden.float(), expected, rtol=0.1, atol=0.1)
    assert logits.isfinite().all()
    hidden.float().square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.encoder.parameters())


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"kernel_size": 4}, "model.kernel_size=4 is even, and an encoder's kernel needs a centre"),
        ({"kernel_size": 0}, "model.kernel_size=0 must be at least 1."),
        ({"hidden_size": 0}, "model.hidden_size=0 must be at least 1."),
        ({"decoder_layers": 0}, "model.decoder_layers=0 must be at least 1."),
        ({"positions": "rope"}, "model.positions=rope is unknown; choose one of learned, none."),
        ({"dropout": 1.0}, "model.dropout=1.0 is no probability"),
        ({"tying": "all"}, "model.tying=all is unknown"),
    ],
)
def test_impossible_choices(overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as raised:
        build(**overrides)
    assert message in str(raised.value)


def test_a_sentence_that_is_too_long_is_named() -> None:
    model = build(max_length=5)
    with pytest.raises(UserError, match=r"model\.max_length=5 holds too few learned positions"):
        model.check_lengths(6, 4)
    with pytest.raises(UserError, match=r"model\.max_length=5 holds too few learned positions"):
        model.check_lengths(4, 7)
    model.check_lengths(5, 6)
