"""Single layers, in every way that a GPU can run them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from triptych.layers.attention import dot_product_attention
from triptych.layers.sequence_layout import SequenceLayout, token_mask

Ways = dict[str, Callable[[], Tensor]]
"""A forward pass by the name of the way."""


def attention_ways(tokens: int, longest: int, device: torch.device) -> Ways:
    """Return one attention of 8 heads of 64 over tokens stored without padding.

    ``masked`` and ``causal`` pad the tokens first; ``packed`` uses a kernel that takes them without padding.

    Args:
        tokens: padded tokens of the batch.
        longest: longest sentence of the batch; the shortest may have half of its tokens.
        device: a GPU, or the CPU, which has no ``packed``.
    """
    on_host = torch.randint(longest // 2, longest + 1, (tokens // longest,))
    lengths = on_host.to(device)
    layout = SequenceLayout.from_lengths(lengths, on_host.numpy(), longest)
    rows = int(on_host.sum()) + layout.filling
    qkv = torch.randn(rows, 3, 8, 64, device=device, dtype=torch.bfloat16).requires_grad_()
    ways: Ways = {
        "masked": partial(_padded, qkv, layout, mask=token_mask(lengths, longest)[:, None, None], causal=False),
        "causal": partial(_padded, qkv, layout, mask=None, causal=True),
    }
    if device.type == "cuda":
        ways["packed"] = _varlen(lengths, longest)
    return ways


def recurrent_ways(tokens: int, longest: int, size: int, device: torch.device) -> Ways:
    """Return one bidirectional LSTM layer over sentences without padding, by PyTorch's fused kernel in two precisions.

    Args:
        tokens: padded tokens of the batch.
        longest: longest sentence of the batch; the shortest may have half of its tokens.
        size: of the inputs and of the state in each direction.
        device: a GPU or the CPU.
    """
    lengths = torch.randint(longest // 2, longest + 1, (tokens // longest,))
    layer = nn.LSTM(size, size, batch_first=True, bidirectional=True, device=device)
    x = torch.randn(len(lengths), longest, size, device=device)
    ways: Ways = {}
    for name, precision in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        ways[name] = partial(_recurrent, copy.deepcopy(layer).to(precision), x.to(precision).requires_grad_(), lengths)
    return ways


def _recurrent(layer: nn.LSTM, x: Tensor, lengths: Tensor) -> Tensor:
    return layer(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))[0].data


def _padded(qkv: Tensor, layout: SequenceLayout, *, mask: Tensor | None, causal: bool) -> Tensor:
    """As a layer does it: (R, 3, 8, 64) put among padding, attended, and packed again."""
    query, key, value = layout.pad(qkv.flatten(1)).unflatten(-1, (3, 8, 64)).permute(2, 0, 3, 1, 4)
    attended = dot_product_attention(query, key, value, mask=mask, causal=causal, dropout=0.0)
    return layout.unpad(attended.transpose(1, 2).flatten(2))


def _varlen(lengths: Tensor, longest: int) -> Callable[[], Any]:
    """Return a call of PyTorch's attention kernel for sentences concatenated without padding."""
    from torch.nn.attention.varlen import varlen_attn

    ends = nn.functional.pad(lengths.cumsum(0), (1, 0)).int()
    query, key, value = (
        torch.randn(int(lengths.sum()), 8, 64, device=lengths.device, dtype=torch.bfloat16).requires_grad_()
        for _ in range(3)
    )
    return partial(varlen_attn, query, key, value, ends, ends, longest, longest)
