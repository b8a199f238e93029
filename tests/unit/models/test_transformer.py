"""The Transformer's layers against torch.nn's, on copied weights, and its options against their definitions."""

from __future__ import annotations

import math

import pytest
import torch
from conftest import VOCABULARY, build_model, compose_train
from torch import Tensor, nn

from triptych.accounting.parameters import count_parameters
from triptych.contract.vocabulary import Vocabulary
from triptych.errors import UserError
from triptych.layers.attention import MultiHeadAttention, dot_product_attention, dot_product_attention_with_weights
from triptych.layers.blocks import Block, FeedForward
from triptych.layers.encoder_decoder import Memory
from triptych.layers.positions import rotate, rotations, sinusoid
from triptych.layers.sequence_layout import SequenceLayout
from triptych.layers.transformer_config import TransformerConfig

D_MODEL, HEADS, D_FF = 32, 4, 64


def config(**changes: object) -> TransformerConfig:
    plain = {
        "d_model": D_MODEL,
        "num_heads": HEADS,
        "d_k": None,
        "d_v": None,
        "d_ff": D_FF,
        "activation": "relu",
        "norm": "layer",
        "norm_position": "pre",
        "positions": "none",
        "max_length": 64,
        "bias": True,
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "embedding_dropout": 0.0,
    }
    return TransformerConfig(**{**plain, **changes})  # type: ignore[arg-type]


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key_value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key_value.bias]).normal_())
        ours.query.bias.copy_(theirs.in_proj_bias[:D_MODEL])
        ours.key_value.bias.copy_(theirs.in_proj_bias[D_MODEL:])
        theirs.out_proj.load_state_dict(ours.output.state_dict())


def copy_feed_forward(ours: Block, theirs: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> None:
    theirs.linear1.load_state_dict(ours.feed_forward.up.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.down.state_dict())


def randomise_norms(module: nn.Module) -> None:
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, nn.LayerNorm):
                part.weight.normal_(1, 0.2)
                part.bias.normal_(0, 0.2)


@pytest.mark.parametrize("norm_position", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_encoder_block_is_pytorchs(norm_position: str, activation: str) -> None:
    torch.manual_seed(0)
    ours = Block(config(norm_position=norm_position, activation=activation), attention="encoder").eval()
    theirs = nn.TransformerEncoderLayer(
        D_MODEL, HEADS, D_FF, 0.0, activation, batch_first=True, norm_first=norm_position == "pre"
    ).eval()
    randomise_norms(ours)
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_feed_forward(ours, theirs)
    theirs.norm1.load_state_dict(ours.self_norm.state_dict())
    theirs.norm2.load_state_dict(ours.feed_forward_norm.state_dict())
    x, lengths = torch.randn(3, 7, D_MODEL), torch.tensor([7, 4, 1])
    visible = torch.arange(7) < lengths[:, None]
    layout = SequenceLayout.from_lengths(lengths, lengths.numpy(), 7).bidirectional()
    found = ours(layout.unpad(x), layout)
    expected = theirs(x, src_key_padding_mask=~visible)
    torch.testing.assert_close(layout.without_filling(found), expected[visible], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("norm_position", ["pre", "post"])
def test_decoder_block_is_pytorchs(norm_position: str) -> None:
    torch.manual_seed(0)
    ours = Block(config(norm_position=norm_position), attention="decoder", memory_size=D_MODEL).eval()
    theirs = nn.TransformerDecoderLayer(
        D_MODEL, HEADS, D_FF, 0.0, batch_first=True, norm_first=norm_position == "pre"
    ).eval()
    randomise_norms(ours)
    assert ours.cross_attention is not None
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    copy_feed_forward(ours, theirs)
    theirs.norm1.load_state_dict(ours.self_norm.state_dict())
    theirs.norm2.load_state_dict(ours.cross_norm.state_dict())
    theirs.norm3.load_state_dict(ours.feed_forward_norm.state_dict())
    x, memory = torch.randn(2, 6, D_MODEL), torch.randn(2, 5, D_MODEL)
    lengths = torch.tensor([5, 3])
    visible = torch.arange(5) < lengths[:, None]
    layout = SequenceLayout.from_lengths(lengths, lengths.numpy(), 5)
    found = ours(
        x.flatten(0, 1),
        SequenceLayout((2, 6)).causal(),
        memory=Memory(memory, layout),
    )
    causal = nn.Transformer.generate_square_subsequent_mask(6)
    expected = theirs(x, memory, tgt_mask=causal, memory_key_padding_mask=~visible)
    torch.testing.assert_close(found.view_as(expected), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("causal", [True, False])
def test_paths_of_attention_agree(causal: bool) -> None:
    """The fused kernel, the plain products (which train on a CPU), and those that show their weights."""
    torch.manual_seed(0)
    query, key = torch.randn(2, 4, 6, 8), torch.randn(2, 4, 6, 8)
    value = torch.randn(2, 4, 6, 5)
    mask = None if causal else torch.rand(2, 1, 6, 6) > 0.3
    if mask is not None:
        mask[..., 0] = True

    def run(query: Tensor) -> Tensor:
        return dot_product_attention(query, key, value, mask=mask, causal=causal, dropout=0.0)

    fused, trained = run(query), run(query.clone().requires_grad_())
    shown, weights = dot_product_attention_with_weights(query, key, value, mask=mask, causal=causal, dropout=0.0)
    torch.testing.assert_close(fused, shown, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(fused, trained, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(weights @ value, fused, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("interleaved", [True, False])
def test_sinusoid(interleaved: bool) -> None:
    table = sinusoid(torch.arange(10), 6, interleaved)
    for position in range(10):
        for i in range(3):
            angle = position / 10000 ** (2 * i / 6)
            sine, cosine = (2 * i, 2 * i + 1) if interleaved else (i, 3 + i)
            assert table[position, sine].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert table[position, cosine].item() == pytest.approx(math.cos(angle), abs=1e-5)


def test_rotations_depend_on_distance_alone() -> None:
    query, key = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 1, 8)

    def score(at: int, other: int) -> float:
        rope, other_rope = rotations(torch.tensor([[at]]), 8), rotations(torch.tensor([[other]]), 8)
        return float((rotate(query, rope) * rotate(key, other_rope)).sum())

    assert score(3, 1) == pytest.approx(score(12, 10), abs=1e-4)
    assert score(3, 1) != pytest.approx(score(3, 2), abs=1e-4)


def test_swiglu() -> None:
    layer = FeedForward(config(activation="swiglu"))
    x = torch.randn(5, D_MODEL)
    gate, up = layer.up(x).split(D_FF, dim=-1)
    torch.testing.assert_close(layer(x), layer.down(gate * torch.sigmoid(gate) * up))


@pytest.mark.parametrize("positions", ["sinusoidal_concatenated", "learned", "rope", "none"])
def test_positions_and_order(positions: str) -> None:
    """Without positions an encoder's memory of a bag of words does not know their order; with them it does."""
    model = build_model("model=transformer", f"model.positions={positions}")
    forward, backward = torch.tensor([[7, 8, 9, 3]]), torch.tensor([[9, 8, 7, 3]])
    lengths = torch.tensor([4])

    def memory(src: Tensor) -> Tensor:
        return model.encoder(*model.embeddings.embed_source(src, lengths, lengths.numpy())).vectors  # type: ignore

    same = torch.allclose(memory(forward)[0], memory(backward)[2])
    assert same == (positions == "none")


@pytest.mark.parametrize(("tying", "matrices"), [("none", 3), ("decoder", 2), ("three_way", 1)])
def test_tying(tying: str, matrices: int) -> None:
    model = build_model("model=transformer", f"model.tying={tying}")
    assert model.embedding_parameters == matrices * VOCABULARY.tgt_size * 32


@pytest.mark.parametrize("overrides", [["model=transformer"], ["model=lm4mt"]])
def test_learned_positions_are_embeddings(overrides: list[str]) -> None:
    """As in Kaplan et al. 2020, section 2.1: a longer table makes no model larger by its non-embedding parameters."""
    short, long, none = (
        count_parameters(build_model(*overrides, *more))
        for more in (
            ["model.positions=learned", "model.max_length=20"],
            ["model.positions=learned", "model.max_length=200"],
            ["model.positions=none"],
        )
    )
    tables = 2 if "model=transformer" in overrides else 1
    assert long.total - short.total == tables * 180 * 32
    assert long.non_embedding == short.non_embedding == none.non_embedding


@pytest.mark.parametrize(("preset", "dropout"), [("base", 0.1), ("big", 0.1)])
def test_presets_have_the_dropout_of_the_english_french_models(preset: str, dropout: float) -> None:
    """Vaswani et al. 2017: 0.1 for base (table 3), and for the English-French big model (section 6.1)."""
    model = compose_train(f"model=transformer_{preset}").model
    assert (model.dropout, model.embedding_dropout) == (dropout, dropout)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_heads": 5}, "not divisible by model.num_heads=5"),
        ({"activation": "tanh"}, "relu, gelu, swiglu"),
        ({"norm_position": "middle"}, "pre, post"),
        ({"dropout": 1.0}, "model.dropout=1.0"),
        ({"d_ff": 0}, "model.d_ff=0"),
        ({"positions": "rope", "d_k": 7, "d_v": 7}, "even size"),
    ],
)
def test_impossible_sizes(change: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        config(**change)


def test_separate_vocabularies_cannot_be_tied_or_joined() -> None:
    separate = Vocabulary(src_size=30, tgt_size=40, joint=False, src_tag=4, tgt_tag=5)
    for overrides in (["model=transformer"], ["model=lm4mt"]):
        with pytest.raises(Exception, match=r"tokenizer\.joint=true"):
            build_model(*overrides, vocabulary=separate)


def test_learned_positions_end() -> None:
    model = build_model("model=transformer", "model.positions=learned", "model.max_length=3")
    with pytest.raises(UserError, match="max_length=3"):
        model.start(torch.tensor([[7, 8, 9, 3]]), torch.tensor([4]))


def test_rotations_are_rounded_once() -> None:
    """In half precision the result is that of single precision, rounded."""
    x = torch.randn(2, 3, 40, 16).bfloat16()
    rope = rotations(torch.arange(40)[None], 16)
    assert torch.equal(rotate(x, rope), rotate(x.float(), rope).bfloat16())


@pytest.mark.parametrize(("d_k", "d_v"), [(8, 8), (2, 8), (32, 4)])
def test_stacked_matrices_are_initialised_apart(d_k: int, d_v: int) -> None:
    """Each has Xavier's bound for its own shape, and so the keys' bound does not depend on d_v."""
    sizes = config(d_model=256, d_k=d_k, d_v=d_v, d_ff=128, activation="swiglu")
    block = Block(sizes, attention="encoder")
    matrices = [
        *block.self_attention.key_value.weight.split([HEADS * d_k, HEADS * d_v]),
        *block.feed_forward.up.weight.chunk(2),
    ]
    for matrix in matrices:
        assert float(matrix.abs().max()) == pytest.approx(math.sqrt(6 / sum(matrix.shape)), rel=0.01)
    linears = [module for module in block.modules() if isinstance(module, nn.Linear)]
    assert all(not module.bias.any() for module in linears)
