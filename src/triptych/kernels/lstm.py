"""A fused LSTM over padded sentences."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from triptych import kernels
from triptych.kernels.precision import fused_precision

SHUT = 1e4
"""Added to a gate before the logistic function, it makes the gate 0 or 1 to the last bit."""

Outputs = tuple[Tensor, tuple[Tensor, Tensor]]
"""Outputs (B, S, dirs * H), and the last h and c of the sentences, each (B, dirs * H)."""


def has_padded_lstm(x: Tensor, layer: nn.Module) -> bool:
    """Whether ``padded_lstm`` can run a layer over x (B, S, I), and is chosen.

    oneDNN's LSTM is more than twice as fast as PyTorch's own loop over packed sentences, which oneDNN does not take.
    """
    available = x.device.type == "cpu" and x.dtype == torch.float32 and torch.backends.mkldnn.is_available()
    return kernels.fast() and available and isinstance(layer, nn.LSTM)


def padded_lstm_reference(layer: nn.LSTM, x: Tensor, lengths: Tensor) -> Outputs:
    """``padded_lstm`` by PyTorch's loop over packed sentences."""
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    output, (h, c) = layer(packed)
    padded, _ = pad_packed_sequence(output, batch_first=True, total_length=x.shape[1])
    return padded, (h.transpose(0, 1).flatten(1), c.transpose(0, 1).flatten(1))


def padded_lstm(layer: nn.LSTM, x: Tensor, lengths: Tensor) -> Outputs:
    """Run one LSTM layer from zeros over padded sentences x (B, S, I) of lengths (B,), in the CPU's memory.

    oneDNN's LSTM ignores lengths. One more input, 1 on padding, shuts the input gate and opens the forget gate there: a
    cell that has come to the end of its sentence stays as it is, and one that comes from the other side stays zero, and
    with it the state. Outputs on padding are undefined.
    """
    padding = (torch.arange(x.shape[1]) >= lengths[:, None]).unsqueeze(-1).to(x.dtype)
    shut = x.new_zeros(4, layer.hidden_size, 1)
    shut[0], shut[1] = -SHUT, SHUT
    directions = layer.all_weights
    weights = [part for w_ih, *others in directions for part in (torch.cat([w_ih, shut.flatten(0, 1)], 1), *others)]
    first = x.new_zeros(len(directions), len(x), layer.hidden_size)
    both = len(directions) == 2
    with fused_precision(x.device):
        inputs = torch.cat([x, padding], -1)
        output, h, c = torch.lstm(inputs, (first, first), weights, True, 1, 0.0, layer.training, both, True)
    last = output[torch.arange(len(x)), lengths - 1, : layer.hidden_size]
    return output, (torch.cat([last, *h[1:]], 1), c.transpose(0, 1).flatten(1))
