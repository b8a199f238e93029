"""Scaled dot-product and multi-head attention (Vaswani et al. 2017, section 3.2).

B sequences, H heads, Q queries, K keys; R rows of packed tokens, see ``SequenceLayout``.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from triptych.contract.decoder_state import DecoderState
from triptych.kernels import dropout as kernel
from triptych.kernels.packed_linear import Linear
from triptych.layers.ablation import mask_heads
from triptych.layers.initialization import init_linear
from triptych.layers.kv_cache import KVCache
from triptych.layers.positions import rotate
from triptych.layers.recording import RecordableAttention
from triptych.layers.sequence_layout import SequenceLayout
from triptych.layers.transformer_config import AttentionConfig

GPU_KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
"""Kernels of attention that may run on a GPU."""


def dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None, causal: bool, dropout: float
) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) V (Vaswani et al. 2017, equation 1).

    Uses PyTorch's fused kernels, except in training on a CPU: there the backward pass is slower than the plain products
    of ``dot_product_attention_with_weights`` at sentence lengths. On a GPU, cuDNN's is left out: it makes a plan for
    every shape.

    Args:
        query: (B, H, Q, d_k).
        key: (B, H, K, d_k).
        value: (B, H, K, d_v).
        mask: broadcastable to (B, H, Q, K), True where a query may look; None for everywhere.
        causal: a query sees only keys up to its own position (then ``mask`` is None and Q = K).
        dropout: probability of dropping a weight.

    Returns:
        (B, H, Q, d_v).
    """
    if query.device.type == "cpu" and query.requires_grad:
        return dot_product_attention_with_weights(query, key, value, mask=mask, causal=causal, dropout=dropout)[0]
    with nullcontext() if query.device.type == "cpu" else sdpa_kernel(GPU_KERNELS):
        return F.scaled_dot_product_attention(query, key, value, mask, dropout_p=dropout, is_causal=causal)


def dot_product_attention_with_weights(
    query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None, causal: bool, dropout: float
) -> tuple[Tensor, Tensor]:
    """``dot_product_attention`` by plain products; also return the weights (B, H, Q, K) before dropout."""
    if causal:
        mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
    scores = (query * (1 / math.sqrt(query.shape[-1]))) @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    dropped = kernel.dropout(weights, dropout) if dropout else weights
    return dropped.to(value.dtype) @ value, weights


class ProjectedMemory(NamedTuple):
    """What cross-attention needs of a memory of S positions.

    Attributes:
        key: (B, H, S, d_k).
        value: (B, H, S, d_v).
        mask: (B, 1, 1, S), True where the memory is no padding.
    """

    key: Tensor
    value: Tensor
    mask: Tensor

    @classmethod
    def load(cls, state: DecoderState, layer: int) -> ProjectedMemory | None:
        """Return the memory of a layer that a state carries; None if the layer attends to none."""
        tensors = state.sentence
        if f"memory_key.{layer}" not in tensors:
            return None
        return cls(tensors[f"memory_key.{layer}"], tensors[f"memory_value.{layer}"], tensors["memory_mask"])

    def tensors(self, layer: int) -> dict[str, Tensor]:
        """Return the tensors by the names that ``load`` finds them under; the mask is that of all layers.

        Each head's keys come to lie together, since every step of a search reads them.
        """
        key, value = self.key.contiguous(), self.value.contiguous()
        return {f"memory_key.{layer}": key, f"memory_value.{layer}": value, "memory_mask": self.mask}


class MultiHeadAttention(RecordableAttention):
    """Concat(head_1, …, head_h) W^O, where head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V) (section 3.2.2).

    d_k and d_v need not be d_model / heads (table 3, rows B). Each matrix stacks those of all heads; W^K and W^V are
    stacked in one.

    Args:
        config: sizes and dropout.
        name: what weights are recorded as, see ``RecordableAttention``.
        memory_size: dimension of the vectors that keys and values are projected from.
    """

    def __init__(self, config: AttentionConfig, *, name: str, memory_size: int) -> None:
        super().__init__(name)
        heads, d_k, d_v = config.num_heads, config.key_size, config.value_size
        self.d_model, self.memory_size = config.d_model, memory_size
        self.num_heads, self.d_k, self.d_v = heads, d_k, d_v
        self.dropout = config.attention_dropout
        self.query = Linear(config.d_model, heads * d_k, bias=config.bias)  # W^Q
        self.key_value = Linear(memory_size, heads * (d_k + d_v), bias=config.bias)  # W^K, W^V
        self.output = Linear(heads * d_v, config.d_model, bias=config.bias)  # W^O
        init_linear(self.query)
        init_linear(self.key_value, heads * d_k, heads * d_v)
        init_linear(self.output)

    def keys_values(self, x: Tensor, layout: SequenceLayout) -> tuple[Tensor, Tensor]:
        """Project rows (R, memory_size) to keys (B, H, K, d_k) and values (B, H, K, d_v)."""
        sizes = [self.num_heads * self.d_k, self.num_heads * self.d_v]
        key, value = (self._heads(part) for part in layout.pad(self.key_value(x)).split(sizes, dim=-1))
        return key, value

    def queries(self, x: Tensor, layout: SequenceLayout) -> Tensor:
        """Project rows (R, d_model) to queries (B, H, Q, d_k)."""
        return self._heads(layout.pad(self.query(x)))

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool = False) -> Tensor:
        """Attend by ``dot_product_attention``: (B, H, Q, d_v). Weights are recorded, and heads masked, from outside."""
        dropout = self.dropout if self.training else 0.0
        if not self.is_recorded():
            attended = dot_product_attention(query, key, value, mask=mask, causal=causal, dropout=dropout)
            return mask_heads(self, attended)
        attended, weights = dot_product_attention_with_weights(
            query, key, value, mask=mask, causal=causal, dropout=dropout
        )
        self.record(weights)
        return mask_heads(self, attended)

    def merge(self, attended: Tensor, layout: SequenceLayout) -> Tensor:
        """Concatenate the heads (B, H, Q, d_v), and project them by W^O: rows (R, d_model)."""
        return self.output(layout.unpad(attended.transpose(1, 2).flatten(2)))

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # (B, T, H * d) -> (B, H, T, d)

    def flops(self, queries: int, keys: int) -> int:
        """Count multiply-adds times two: four projections, and both products over every query and key."""
        projections = queries * self.d_model * self.num_heads * (self.d_k + self.d_v)
        projections += keys * self.memory_size * self.num_heads * (self.d_k + self.d_v)
        products = self.num_heads * queries * keys * (self.d_k + self.d_v)
        return 2 * (projections + products)


class SelfAttention(MultiHeadAttention):
    """Attention of a sequence to itself, and, in decoding, to its past."""

    def __init__(self, config: AttentionConfig, *, name: str) -> None:
        super().__init__(config, name=name, memory_size=config.d_model)

    def forward(self, x: Tensor, layout: SequenceLayout, kv_cache: KVCache | None = None) -> Tensor:
        """Attend from rows x (R, d_model) to each other, as far as their layout allows; return rows (R, d_model).

        Keys and values are added to those of the cache, if there is one.
        """
        key, value = self.keys_values(x, layout)
        key = key if layout.rope is None else rotate(key, layout.rope)
        if kv_cache is not None:
            key, value = kv_cache.append(key, value)
        query = self.queries(x, layout)
        query = query if layout.rope is None else rotate(query, layout.rope)
        return self.merge(self._attend(query, key, value, layout.mask, layout.is_causal), layout)


class CrossAttention(MultiHeadAttention):
    """Attention of a decoder to an encoder's memory."""

    def project(self, memory: Tensor, layout: SequenceLayout) -> ProjectedMemory:
        """Return the keys and values of a memory's rows (R, memory_size)."""
        return ProjectedMemory(*self.keys_values(memory, layout), layout.is_token[:, None, None])

    def forward(self, x: Tensor, layout: SequenceLayout, memory: ProjectedMemory) -> Tensor:
        """Attend from rows x (R, d_model) to the memory of their sentences; return rows (R, d_model)."""
        attended = self._attend(self.queries(x, layout), memory.key, memory.value, memory.mask)
        return self.merge(attended, layout)
