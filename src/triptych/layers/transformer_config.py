"""Configurations of a block's sub-layers, and of a Transformer's blocks; what they have a choice of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from triptych.errors import UserError, require_at_least, require_one_of, require_probability
from triptych.layers.positions import POSITIONS
from triptych.ranges import Probability, Size

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "swiglu": F.silu}
NORMS: dict[str, Callable[[int], nn.Module]] = {"layer": nn.LayerNorm, "rms": nn.RMSNorm, "none": nn.Identity}


@dataclass(frozen=True, kw_only=True)
class AttentionConfig:
    """What a multi-head attention needs to know; the field names are the configuration's keys.

    Attributes:
        d_model: dimension of a token's vector.
        num_heads: h, heads of an attention.
        d_k: dimension of a head's queries and keys; None for d_model / num_heads.
        d_v: dimension of a head's values; None for d_model / num_heads.
        bias: whether linear layers have one.
        attention_dropout: on the weights of attention.

    Raises:
        UserError: a value that is not allowed, or sizes that do not fit together.
    """

    d_model: Size
    num_heads: Size
    d_k: Size | None
    d_v: Size | None
    bias: bool
    attention_dropout: Probability

    def __post_init__(self) -> None:
        require_at_least(1, "model", d_model=self.d_model, num_heads=self.num_heads, d_k=self.d_k, d_v=self.d_v)
        require_probability("model", attention_dropout=self.attention_dropout)
        if (self.d_k is None or self.d_v is None) and self.d_model % self.num_heads:
            raise UserError(
                f"model.d_model={self.d_model} is not divisible by model.num_heads={self.num_heads}; "
                "choose heads that divide it, or set model.d_k and model.d_v."
            )

    @property
    def key_size(self) -> int:
        return self.d_k or self.d_model // self.num_heads

    @property
    def value_size(self) -> int:
        return self.d_v or self.d_model // self.num_heads


@dataclass(frozen=True, kw_only=True)
class FeedForwardConfig:
    """What a feed-forward layer needs to know; the field names are the configuration's keys.

    Attributes:
        d_model: dimension of a token's vector.
        d_ff: inner dimension.
        activation: ``relu``, ``gelu`` or ``swiglu``.
        bias: whether linear layers have one.
        activation_dropout: on the activations.

    Raises:
        UserError: a value that is not allowed.
    """

    d_model: Size
    d_ff: Size
    activation: str
    bias: bool
    activation_dropout: Probability

    def __post_init__(self) -> None:
        require_one_of(ACTIVATIONS, "model", activation=self.activation)
        require_at_least(1, "model", d_model=self.d_model, d_ff=self.d_ff)
        require_probability("model", activation_dropout=self.activation_dropout)


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(AttentionConfig, FeedForwardConfig):
    """What all blocks of a Transformer share; the field names are the configuration's keys.

    Vaswani et al. 2017, table 3, varies them: rows A ``num_heads``, ``d_k`` and ``d_v``; B ``d_k``; C ``d_model``,
    ``d_ff``, ``d_k`` and ``d_v`` (and a model's number of layers); D ``dropout`` and ``embedding_dropout`` (and
    the loss's label smoothing); E ``positions``.

    Attributes:
        norm: ``layer``, ``rms`` or ``none``.
        norm_position: ``pre``, before each sub-layer, or ``post``, after its residual sum.
        positions: ``sinusoidal``, ``sinusoidal_concatenated`` (all sines first, as in tensor2tensor), ``learned``,
            ``rope`` or ``none``.
        max_length: rows of the table of learned positions.
        dropout: on the output of each sub-layer.
        embedding_dropout: on the sums of embedding and position.

    Raises:
        UserError: a value that is not allowed, or sizes that do not fit together.
    """

    norm: str
    norm_position: str
    positions: str
    max_length: Size
    dropout: Probability
    embedding_dropout: Probability

    def __post_init__(self) -> None:
        AttentionConfig.__post_init__(self)
        FeedForwardConfig.__post_init__(self)
        require_one_of(NORMS, "model", norm=self.norm)
        require_one_of(("pre", "post"), "model", norm_position=self.norm_position)
        require_one_of(POSITIONS, "model", positions=self.positions)
        require_at_least(1, "model", max_length=self.max_length)
        require_probability("model", dropout=self.dropout, embedding_dropout=self.embedding_dropout)
        if self.positions == "rope" and self.key_size % 2:
            raise UserError(f"model.positions=rope needs heads of even size, and these have {self.key_size}.")

    @property
    def pre_norm(self) -> bool:
        return self.norm_position == "pre"
