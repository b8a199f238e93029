"""Scaled dot-product attention with several heads (Vaswani et al. 2017, section 3.2).

B sentences, H heads, Q queries, K keys; N tokens of all sentences, end to end.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from triptych.kernels.dropout import drop
from triptych.layers.positions import Rotary, rotate
from triptych.layers.sequence_layout import Packing


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None,
    causal: bool,
    dropout: float,
    trace: list[Tensor] | None,
) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) V.

    Two paths that agree: PyTorch's fused kernel, and plain products, which can show their weights. The plain path also
    trains on CPUs, where the backward pass of the fused kernel is the slower one at sentence lengths.

    Args:
        query: (B, H, Q, d_k).
        key: (B, H, K, d_k).
        value: (B, H, K, d_v).
        mask: broadcastable to (B, H, Q, K), True where a query may look; None for everywhere.
        causal: a query sees only keys up to its own place (then ``mask`` is None and Q = K).
        dropout: probability of dropping a weight.
        trace: the weights (B, H, Q, K), before dropout, are appended here.

    Returns:
        (B, H, Q, d_v).
    """
    if trace is None and not (query.device.type == "cpu" and query.requires_grad):
        return F.scaled_dot_product_attention(query, key, value, mask, dropout_p=dropout, is_causal=causal)
    if causal:
        mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
    scores = (query * (1 / math.sqrt(query.shape[-1]))) @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    if trace is not None:
        trace.append(weights.detach())
    if dropout:
        weights = drop(weights, dropout)
    return weights.to(value.dtype) @ value


class Attention(nn.Module):
    """Multi-head attention whose d_k and d_v are free of d_model / heads (table 3, rows A and B)."""

    def __init__(self, *, d_model: int, num_heads: int, d_k: int, d_v: int, bias: bool, dropout: float) -> None:
        super().__init__()
        self.d_model, self.num_heads, self.d_k, self.d_v = d_model, num_heads, d_k, d_v
        self.dropout = dropout
        self.query = nn.Linear(d_model, num_heads * d_k, bias=bias)
        self.key_value = nn.Linear(d_model, num_heads * (d_k + d_v), bias=bias)
        self.output = nn.Linear(num_heads * d_v, d_model, bias=bias)

    def keys_values(self, memory: Tensor, packing: Packing, by: Rotary | None = None) -> tuple[Tensor, Tensor]:
        """Of packed (N, d_model): keys (B, H, K, d_k), rotated ``by`` their positions, and values (B, H, K, d_v)."""
        sizes = [self.num_heads * self.d_k, self.num_heads * self.d_v]
        key, value = (self._heads(part) for part in packing.pad(self.key_value(memory)).split(sizes, dim=-1))
        return (key if by is None else rotate(key, by)), value

    def forward(
        self,
        x: Tensor,
        packing: Packing,
        keys_values: tuple[Tensor, Tensor],
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        by: Rotary | None = None,
        trace: list[Tensor] | None = None,
    ) -> Tensor:
        """Queries from packed x (N, d_model) over ready keys and values, masks as in ``attend``; (N, d_model)."""
        query = self._heads(packing.pad(self.query(x)))
        if by is not None:
            query = rotate(query, by)
        dropout = self.dropout if self.training else 0.0
        attended = attend(query, *keys_values, mask=mask, causal=causal, dropout=dropout, trace=trace)
        return self.output(packing.pack(attended.transpose(1, 2).flatten(2)))

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # (B, T, H * d) -> (B, H, T, d)

    def flops(self, queries: int, keys: int) -> int:
        """Multiply-adds times two: four projections, and both products over every query and key."""
        projections = queries * self.d_model * self.num_heads * (self.d_k + self.d_v)
        projections += keys * self.d_model * self.num_heads * (self.d_k + self.d_v)
        products = self.num_heads * queries * keys * (self.d_k + self.d_v)
        return 2 * (projections + products)
