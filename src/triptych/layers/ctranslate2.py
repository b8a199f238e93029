"""Stacks of blocks in the form that CTranslate2 runs (https://opennmt.net/CTranslate2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from triptych.errors import UserError
from triptych.layers.attention import MultiHeadAttention
from triptych.layers.blocks import Block, FeedForward
from triptych.layers.embedding import TiedEmbeddings, TransformerInput
from triptych.layers.transformer import Blocks, CausalBlocks, TransformerDecoder, TransformerEncoder
from triptych.layers.transformer_config import TransformerConfig

if TYPE_CHECKING:
    from ctranslate2.specs import TransformerDecoderModelSpec, TransformerSpec

MAX_LENGTH = 2048
"""Rows of a table of positions that a formula makes; longer sentences cannot be translated."""


def encoder_decoder_spec(
    embeddings: TiedEmbeddings, encoder: TransformerEncoder, decoder: TransformerDecoder
) -> TransformerSpec:
    """Return an encoder-decoder's weights and shape; its vocabularies are not registered yet.

    Raises:
        UserError: as ``_shape``.
    """
    specs, shape = require_ctranslate2().specs, _shape(encoder)
    spec = specs.TransformerSpec(
        specs.TransformerEncoderSpec(len(encoder.blocks), **shape),
        specs.TransformerDecoderSpec(len(decoder.blocks), **shape),
    )
    spec.encoder.embeddings[0].weight = array(embeddings.src.weight)
    spec.decoder.embeddings.weight = array(embeddings.tgt.weight)
    spec.decoder.projection.weight = array(embeddings.output_weight)
    set_stack(spec.encoder, encoder)
    set_stack(spec.decoder, decoder)
    spec.config.layer_norm_epsilon = epsilon(next(iter(encoder)).self_norm)
    spec.config.add_source_eos = True
    spec.config.decoder_start_token = spec.config.bos_token
    return spec


def decoder_only_spec(embeddings: TiedEmbeddings, decoder: CausalBlocks) -> TransformerDecoderModelSpec:
    """Return a decoder-only model's weights and shape; its vocabulary is not registered yet.

    Raises:
        UserError: as ``_shape``.
    """
    specs, shape = require_ctranslate2().specs, _shape(decoder)
    stack = specs.TransformerDecoderSpec(len(decoder.blocks), with_encoder_attention=False, **shape)
    spec = specs.TransformerDecoderModelSpec(stack)
    spec.decoder.embeddings.weight = array(embeddings.tgt.weight)
    spec.decoder.projection.weight = array(embeddings.output_weight)
    set_stack(spec.decoder, decoder)
    spec.config.layer_norm_epsilon = epsilon(next(iter(decoder)).self_norm)
    return spec


def _shape(stack: Blocks) -> dict[str, Any]:
    """Return CTranslate2's description of a stack's layers.

    Raises:
        UserError: keys and values of unequal sizes, or no norms, which CTranslate2 does not have; or no CTranslate2.
    """
    specs = require_ctranslate2().specs
    config = stack.config
    if config.key_size != config.value_size:
        raise UserError(
            f"CTranslate2 has no heads with model.d_k={config.key_size} and model.d_v={config.value_size}: they must "
            "be equal."
        )
    if config.norm == "none":
        raise UserError("CTranslate2 has no Transformer with model.norm=none; export one with model.norm=layer or rms.")
    activations = {"relu": specs.Activation.RELU, "gelu": specs.Activation.GELU, "swiglu": specs.Activation.SWISH}
    return {
        "num_heads": config.num_heads,
        "pre_norm": config.pre_norm,
        "activation": activations[config.activation],
        "ffn_glu": config.activation == "swiglu",
        "rms_norm": config.norm == "rms",
        "head_dim": config.key_size,
        "rotary_dim": stack.input.rotary_size,
        "rotary_interleave": False,
    }


def require_ctranslate2() -> Any:
    """Return the module; raise ``UserError`` if it is not installed."""
    try:
        import ctranslate2
    except ImportError as error:
        raise UserError("format=ctranslate2 needs its package; pip install -e '.[export]'.") from error
    return ctranslate2


def set_stack(spec: Any, stack: Blocks) -> None:
    if stack.input.rotary_size is None:
        spec.position_encodings.encodings = array(table(stack.input, stack.config))
    if stack.config.pre_norm:
        set_norm(spec.layer_norm, stack.norm)
    for block, layer in zip(stack, spec.layer, strict=True):
        set_block(layer, block)


def set_block(layer: Any, block: Block) -> None:
    attention = block.self_attention
    query, key_value = attention.query, attention.key_value
    set_attention(layer.self_attention, attention, block.self_norm)
    set_linear(layer.self_attention.linear[0], query, key_value)
    if block.cross_attention is not None:
        set_attention(layer.attention, block.cross_attention, block.cross_norm)
        set_linear(layer.attention.linear[0], block.cross_attention.query)
        set_linear(layer.attention.linear[1], block.cross_attention.key_value)
    set_feed_forward(layer.ffn, block.feed_forward)
    set_norm(layer.ffn.layer_norm, block.feed_forward_norm)


def set_attention(spec: Any, attention: MultiHeadAttention, norm: nn.Module) -> None:
    set_norm(spec.layer_norm, norm)
    set_linear(spec.linear[-1], attention.output)


def set_feed_forward(spec: Any, feed_forward: FeedForward) -> None:
    if feed_forward.gated:
        for part, i in ((spec.linear_0, 0), (spec.linear_0_noact, 1)):
            part.weight = array(feed_forward.up.weight.chunk(2)[i])
            if feed_forward.up.bias is not None:
                part.bias = array(feed_forward.up.bias.chunk(2)[i])
    else:
        set_linear(spec.linear_0, feed_forward.up)
    set_linear(spec.linear_1, feed_forward.down)


def set_linear(spec: Any, *layers: nn.Linear) -> None:
    """Stack the layers one below the other."""
    spec.weight = array(torch.cat([layer.weight for layer in layers]))
    if layers[0].bias is not None:
        spec.bias = array(torch.cat([layer.bias for layer in layers]))


def set_norm(spec: Any, norm: nn.Module) -> None:
    assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
    spec.gamma = array(norm.weight)
    if isinstance(norm, nn.LayerNorm):
        spec.beta = array(norm.bias)


def epsilon(norm: nn.Module) -> float:
    assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
    return torch.finfo(torch.float32).eps if norm.eps is None else norm.eps


def table(input: TransformerInput, config: TransformerConfig) -> Tensor:
    """Return what is added to the embedding at each position, (rows, d_model)."""
    rows = MAX_LENGTH if input.positions.table is None else input.positions.table.num_embeddings
    return input.positions(torch.zeros(rows, config.d_model), torch.arange(rows))


def array(tensor: Tensor) -> Any:
    """Return a copy: CTranslate2 quantises in place."""
    return tensor.detach().float().cpu().contiguous().numpy().copy()
