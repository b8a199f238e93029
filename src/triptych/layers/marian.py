"""An encoder-decoder Transformer in the form of Hugging Face's Marian (Junczys-Dowmunt et al. 2018).

Marian's Transformer is that of Vaswani et al. 2017: norms after each sub-layer's sum, sinusoidal positions, all sines
before all cosines. Where sines and cosines alternate, the features of the residual stream are renumbered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from triptych.contract.vocabulary import BOS, EOS, PAD
from triptych.errors import UserError
from triptych.layers.attention import MultiHeadAttention
from triptych.layers.embedding import TiedEmbeddings
from triptych.layers.transformer import TransformerDecoder, TransformerEncoder
from triptych.layers.transformer_config import TransformerConfig

if TYPE_CHECKING:
    from transformers import MarianMTModel

LIBRARY = "transformers"
"""Name of the library, as model cards give it."""
MAX_LENGTH = 1024
"""Positions of the exported model; longer sentences cannot be translated."""


def marian_model(embeddings: TiedEmbeddings, encoder: TransformerEncoder, decoder: TransformerDecoder) -> MarianMTModel:
    """Return a model of ``transformers`` with these weights.

    Raises:
        UserError: the architecture is not Marian's, or there is no ``transformers``.
    """
    library = huggingface_library()
    config = encoder.config
    sizes = embeddings.src.num_embeddings, embeddings.tgt.num_embeddings
    _require_form(config, sizes)
    shape = library.MarianConfig(
        vocab_size=sizes[0],
        decoder_vocab_size=sizes[1],
        d_model=config.d_model,
        encoder_layers=len(encoder.blocks),
        decoder_layers=len(decoder.blocks),
        encoder_attention_heads=config.num_heads,
        decoder_attention_heads=config.num_heads,
        encoder_ffn_dim=config.d_ff,
        decoder_ffn_dim=config.d_ff,
        activation_function=config.activation,
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        activation_dropout=config.activation_dropout,
        max_position_embeddings=MAX_LENGTH,
        scale_embedding=True,
        share_encoder_decoder_embeddings=embeddings.src is embeddings.tgt,
        tie_word_embeddings=embeddings.output is embeddings.tgt,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        forced_eos_token_id=None,
        decoder_start_token_id=BOS,
    )
    model = library.MarianMTModel(shape)
    features = torch.arange(config.d_model)
    if config.positions == "sinusoidal":
        features = torch.cat([features[0::2], features[1::2]])
    weights = {
        "model.encoder.embed_tokens.weight": embeddings.src.weight[:, features],
        "model.decoder.embed_tokens.weight": embeddings.tgt.weight[:, features],
        "lm_head.weight": embeddings.output_weight[:, features],
    }
    for side, stack in (("encoder", encoder), ("decoder", decoder)):
        for i, block in enumerate(stack):
            weights |= _with_prefix(f"model.{side}.layers.{i}.", _block_weights(block, features))
    if embeddings.src is embeddings.tgt:
        weights["model.shared.weight"] = weights["model.encoder.embed_tokens.weight"]
    missing, unexpected = model.load_state_dict(weights, strict=False)
    if unexpected or [name for name in missing if "embed_positions" not in name and name != "final_logits_bias"]:
        raise RuntimeError(f"transformers' Marian has other weights: without {unexpected}, and with {missing}")
    return model.eval()


def _require_form(config: TransformerConfig, sizes: tuple[int, int]) -> None:
    """Raise ``UserError`` for a model, or for sizes of its two vocabularies, that Marian cannot have."""
    if sizes[0] != sizes[1]:
        raise UserError(
            f"format=huggingface needs vocabularies of equal size, and this run's have {sizes[0]} and {sizes[1]} "
            "pieces; export it with format=ctranslate2 or safetensors."
        )
    if others := _differences(config):
        raise UserError(
            f"format=huggingface writes a Transformer as Vaswani et al. (2017) have it, and this one has "
            f"{' '.join(others)}; train one with {' '.join(others.values())}, or export this one with "
            "format=ctranslate2 or safetensors."
        )


def _differences(config: TransformerConfig) -> dict[str, str]:
    """Return each setting that Marian's Transformer has not, with the setting that it has."""
    found = {}
    if config.norm != "layer":
        found[f"model.norm={config.norm}"] = "model.norm=layer"
    if config.pre_norm:
        found[f"model.norm_position={config.norm_position}"] = "model.norm_position=post"
    if not config.positions.startswith("sinusoidal"):
        found[f"model.positions={config.positions}"] = "model.positions=sinusoidal"
    if config.activation == "swiglu":
        found["model.activation=swiglu"] = "model.activation=relu"
    if not config.key_size == config.value_size == config.d_model / config.num_heads:
        found[f"model.d_k={config.key_size} model.d_v={config.value_size}"] = "model.d_k=null model.d_v=null"
    return found


def _block_weights(block: Any, features: Tensor) -> dict[str, Tensor]:
    weights = {
        **_attention_weights("self_attn", block.self_attention, features),
        **_norm_weights("self_attn_layer_norm", block.self_norm, features),
        **_linear_weights("fc1", block.feed_forward.up, columns=features),
        **_linear_weights("fc2", block.feed_forward.down, rows=features),
        **_norm_weights("final_layer_norm", block.feed_forward_norm, features),
    }
    if block.cross_attention is not None:
        weights |= _attention_weights("encoder_attn", block.cross_attention, features)
        weights |= _norm_weights("encoder_attn_layer_norm", block.cross_norm, features)
    return weights


def _attention_weights(name: str, attention: MultiHeadAttention, features: Tensor) -> dict[str, Tensor]:
    size = attention.num_heads * attention.d_k
    keys, values = torch.arange(size), torch.arange(size, 2 * size)
    return {
        **_linear_weights(f"{name}.q_proj", attention.query, columns=features),
        **_linear_weights(f"{name}.k_proj", attention.key_value, rows=keys, columns=features),
        **_linear_weights(f"{name}.v_proj", attention.key_value, rows=values, columns=features),
        **_linear_weights(f"{name}.out_proj", attention.output, rows=features),
    }


def _linear_weights(
    name: str, layer: nn.Linear, rows: Tensor | slice = slice(None), columns: Tensor | slice = slice(None)
) -> dict[str, Tensor]:
    """Return chosen rows and columns of a layer's weight, and its bias, which Marian has in any case."""
    bias = layer.weight.new_zeros(layer.out_features) if layer.bias is None else layer.bias
    return {f"{name}.weight": layer.weight[rows][:, columns], f"{name}.bias": bias[rows]}


def _norm_weights(name: str, norm: Any, features: Tensor) -> dict[str, Tensor]:
    return {f"{name}.weight": norm.weight[features], f"{name}.bias": norm.bias[features]}


def _with_prefix(prefix: str, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}{name}": weight for name, weight in weights.items()}


def huggingface_library() -> Any:
    """Return the module ``transformers``; raise ``UserError`` if it is not installed."""
    try:
        import transformers
    except ImportError as error:
        raise UserError("format=huggingface needs transformers; pip install -e '.[export]'.") from error
    return transformers
