"""Recurrent blocks against their equations, written out token by token, and against the Transformer's block."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from conftest import build_model, random_batch
from torch import Tensor, nn

from triptych.contract.batch import Batch
from triptych.errors import UserError
from triptych.layers.attention import AttentionConfig, CrossAttention
from triptych.layers.blocks import Block, FeedForward
from triptych.layers.encoder_decoder import Memory
from triptych.layers.recurrent_block_stacks import RecurrentBlockDecoder, RecurrentBlockEncoder
from triptych.layers.recurrent_blocks import RecurrentBlockConfig, RecurrentDecoderBlock
from triptych.layers.sequence_layout import SequenceLayout
from triptych.layers.transformer_config import TransformerConfig

BLOCKS = ["model=hybrid", "model/encoder=recurrent_blocks", "model/decoder=recurrent_blocks"]
PLAIN = {"residual": False, "norm": "none", "feed_forward": False}
"""A stack of recurrent layers, and nothing else."""
SETTINGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "rnn": (PLAIN, {"attention_layers": "top", "num_heads": 1}),
    "residual": ({**PLAIN, "residual": True}, {"attention_layers": "top", "num_heads": 1}),
    "heads": ({**PLAIN, "residual": True}, {"attention_layers": "top", "num_heads": 4}),
    "normalisation": ({"feed_forward": False}, {"attention_layers": "top"}),
    "all on": ({}, {}),
    "gru": ({"cell": "gru", "norm": "rms", "activation": "swiglu", "bias": False}, {}),
}
"""What encoder and decoder share, and what the decoder has besides."""


def hybrid(setting: str) -> Any:
    shared, of_decoder = SETTINGS[setting]
    chosen = {"num_layers": 2, "hidden_size": 12, **shared}
    overrides = [f"model.encoder.{key}={value}" for key, value in chosen.items()]
    overrides += [f"model.decoder.{key}={value}" for key, value in {**chosen, **of_decoder}.items()]
    return build_model(*BLOCKS, *overrides)


def recurrence(x: Tensor, weights: list[Tensor]) -> Tensor:
    """Run one direction over x (T, D) from zeros, gate by gate (PyTorch's order and equations): (T, H)."""
    weight_ih, weight_hh, bias_ih, bias_hh = weights
    h = c = torch.zeros(weight_hh.shape[1], dtype=x.dtype)
    outputs = []
    for token in x:
        ours, theirs = weight_ih @ token + bias_ih, weight_hh @ h + bias_hh
        if len(ours) == 4 * len(h):
            i, f, g, o = (ours + theirs).chunk(4)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        else:
            (r, z, n), (hr, hz, hn) = ours.chunk(3), theirs.chunk(3)
            z = (z + hz).sigmoid()
            h = (1 - z) * (n + (r + hr).sigmoid() * hn).tanh() + z * h
        outputs.append(h)
    return torch.stack(outputs)


def recurrent_layer(rnn: nn.LSTM | nn.GRU, x: Tensor) -> Tensor:
    """All directions over x (T, D): (T, H or 2H)."""
    outputs = [recurrence(x, rnn.all_weights[0])]
    if rnn.bidirectional:
        outputs.append(recurrence(x.flip(0), rnn.all_weights[1]).flip(0))
    return torch.cat(outputs, -1)


def attention(module: CrossAttention, x: Tensor, memory: Tensor) -> Tensor:
    """Attend from x (T, D) to the memory (S, D), head by head."""
    d_k, d_v, count = module.d_k, module.d_v, module.num_heads
    query, key_value = module.query(x), module.key_value(memory)
    heads = []
    for i in range(count):
        q = query[:, i * d_k : (i + 1) * d_k]
        k = key_value[:, i * d_k : (i + 1) * d_k]
        v = key_value[:, count * d_k + i * d_v : count * d_k + (i + 1) * d_v]
        heads.append(torch.stack([(k @ one / d_k**0.5).softmax(0) @ v for one in q]))
    return module.output(torch.cat(heads, -1))


def feed_forward(module: FeedForward, x: Tensor) -> Tensor:
    up = module.up(x)
    if module.gated:
        gate, other = up.chunk(2, -1)
        return module.down(F.silu(gate) * other)
    return module.down(up.clamp(min=0))


def stack(part: Any, x: Tensor, residual: bool, memory: Tensor | None = None) -> Tensor:
    """Run a stack of blocks over the tokens x (T, D) of one sentence."""
    for block in part.blocks:
        new = block.output(recurrent_layer(block.recurrent.rnn, block.recurrent_norm(x)))
        x = x + new if residual else new
        if memory is not None and block.cross_attention is not None:
            x = x + attention(block.cross_attention, block.cross_norm(x), memory)
        if block.feed_forward is not None:
            new = feed_forward(block.feed_forward, block.feed_forward_norm(x))
            x = x + new if residual else new
    return part.norm(x)


@pytest.mark.parametrize("setting", SETTINGS)
@torch.no_grad()
def test_encoder_and_decoder_are_their_equations(setting: str, batch: Batch) -> None:
    model, residual = hybrid(setting), SETTINGS[setting][0].get("residual", True)
    expected = []
    for src, tgt, s, t in zip(batch.src, batch.tgt, batch.src_lengths, batch.tgt_lengths, strict=True):
        memory = stack(model.encoder, model.embeddings.src(src[:s]) * 32**0.5, residual)
        expected.append(stack(model.decoder, model.embeddings.embed_next(tgt[: t - 1]), residual, memory))
    torch.testing.assert_close(model(batch).hidden, torch.cat(expected), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("layers", "heads", "count"), [("top", 1, 1), ("all", 4, 3)])
@torch.no_grad()
def test_layers_that_attend_and_their_heads(layers: str, heads: int, count: int, batch: Batch) -> None:
    choices = [f"model.decoder.attention_layers={layers}", f"model.decoder.num_heads={heads}"]
    (cross,) = build_model(*BLOCKS, "model.decoder.num_layers=3", *choices).attention_maps(batch)
    assert cross.name == "cross"
    assert cross.weights.shape[1:3] == (count, heads)


class InPlaceOfSelfAttention(nn.Module):
    """A recurrent layer and its W_o, called as a Transformer's block calls its self-attention."""

    def __init__(self, block: RecurrentDecoderBlock) -> None:
        super().__init__()
        self.rnn, self.output = block.recurrent.rnn, block.output

    def forward(self, x: Tensor, layout: SequenceLayout, kv_cache: None) -> Tensor:
        assert kv_cache is None
        return layout.unpad(self.output(self.rnn(layout.pad(x))[0]))


@torch.no_grad()
def test_with_every_switch_on_it_is_the_transformers_block_with_a_recurrent_layer() -> None:
    shared: dict[str, Any] = {"d_model": 8, "bias": True, "d_ff": 12, "activation": "relu", "activation_dropout": 0.0}
    heads: dict[str, Any] = {"num_heads": 2, "d_k": None, "d_v": None, "attention_dropout": 0.0}
    unused: dict[str, Any] = {"positions": "none", "max_length": 1, "embedding_dropout": 0.0}
    config = RecurrentBlockConfig(
        **shared, cell="lstm", hidden_size=5, residual=True, norm="layer", feed_forward=True, dropout=0.0
    )
    attention_config = AttentionConfig(d_model=8, bias=True, **heads)
    block = RecurrentDecoderBlock(config, attention=attention_config, memory_size=6).double()
    transformers = TransformerConfig(**shared, **heads, **unused, norm="layer", norm_position="pre", dropout=0.0)
    theirs: Any = Block(transformers, attention="decoder", memory_size=6).double()
    theirs.self_attention, theirs.self_norm = InPlaceOfSelfAttention(block), block.recurrent_norm
    theirs.cross_attention, theirs.cross_norm = block.cross_attention, block.cross_norm
    theirs.feed_forward, theirs.feed_forward_norm = block.feed_forward, block.feed_forward_norm
    x, source = torch.randn(2, 4, 8).double(), torch.randn(2, 3, 6).double()
    lengths = torch.tensor([3, 2])
    src_layout, layout = SequenceLayout((2, 3), lengths=lengths), SequenceLayout((2, 4))
    memory = theirs.project_memory(Memory(source, src_layout))
    zeros = x.new_zeros(2, 5)
    ours, _ = block(x, (zeros, zeros), memory)
    torch.testing.assert_close(ours.flatten(0, 1), theirs(x.flatten(0, 1), layout, None, memory))


@pytest.mark.parametrize("setting", ["rnn", "all on"])
def test_autocast(setting: str, batch: Batch) -> None:
    model = hybrid(setting).float()
    expected = model(batch).hidden
    with torch.autocast("cpu", torch.bfloat16):
        hidden = model(batch).hidden
        logits, _ = model.step(batch.tgt[:, 0], model.start(batch.src, batch.src_lengths))
    torch.testing.assert_close(hidden.float(), expected, rtol=0.05, atol=0.05)
    assert logits.isfinite().all()
    hidden.float().square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.encoder.parameters())


def test_dropout_is_on_the_output_of_each_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build_model(*BLOCKS, "model.encoder.num_layers=2").train()
    dropped: list[tuple[int, ...]] = []
    for block in (*model.encoder.blocks, *model.decoder.blocks):
        monkeypatch.setattr(block.dropout, "forward", lambda x: dropped.append(tuple(x.shape)) or x)
    model(random_batch([(3, 4)]))
    assert dropped == [*[(4, 32)] * 4, *[(1, 5, 32)] * 3]  # recurrent and feed-forward; in the decoder, attention too


def build(of_encoder: dict[str, Any], of_decoder: dict[str, Any]) -> RecurrentBlockDecoder:
    """A decoder with its encoder, some of whose choices are overridden."""
    shared: dict[str, Any] = {"num_layers": 1, "cell": "lstm", "d_model": 8, "hidden_size": 5, "residual": True}
    shared |= {"norm": "layer", "feed_forward": True, "d_ff": 12, "activation": "relu", "bias": True}
    shared |= {"dropout": 0.0, "activation_dropout": 0.0}
    heads: dict[str, Any] = {"attention_layers": "all", "num_heads": 2, "attention_dropout": 0.0}
    encoder = RecurrentBlockEncoder(**{**shared, **of_encoder})
    return RecurrentBlockDecoder(**{**shared, **heads, **of_decoder}, encoder=encoder)


@pytest.mark.parametrize(
    ("of_encoder", "of_decoder", "message"),
    [
        ({"cell": "elman"}, {}, "model.cell=elman is unknown; choose one of lstm, gru."),
        ({"norm": "batch"}, {}, "model.norm=batch is unknown; choose one of layer, rms, none."),
        ({"hidden_size": 0}, {}, "model.hidden_size=0 must be at least 1."),
        ({"dropout": 1.0}, {}, "model.dropout=1.0 is no probability"),
        ({"num_layers": 0}, {}, "model.num_layers=0 must be at least 1."),
        ({}, {"attention_layers": "bottom"}, "model.attention_layers=bottom is unknown; choose one of top, all."),
        ({}, {"num_heads": 3}, "model.d_model=8 is not divisible by model.num_heads=3"),
        ({}, {"attention_dropout": -0.1}, "model.attention_dropout=-0.1 is no probability"),
    ],
)
def test_impossible_choices(of_encoder: dict[str, Any], of_decoder: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as raised:
        build(of_encoder, of_decoder)
    assert message in str(raised.value)
