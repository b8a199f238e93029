"""Recurrent layers over sentences of unequal length: packed, or, a fused LSTM, padded.

B sentences of up to S positions, N of them tokens, I features of an input, H units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from triptych import kernels
from triptych.kernels.fused_recurrent import run_recurrent
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


class Sentences(Protocol):
    """A batch of sentences, in the form that a stack of layers runs over.

    Attributes:
        inputs: (B, S, I) or (N, I), the first layer's inputs.
    """

    inputs: Tensor

    def run(self, layer: nn.LSTM | nn.GRU, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Run a layer from zeros over x, which has the form of ``inputs``.

        Returns:
            Outputs in that form, and the last states, each (B, dirs * H).
        """
        ...

    def pad(self, x: Tensor) -> Tensor:
        """Return the last layer's outputs as (B, S, dirs * H), zero on padding."""
        ...


def sentences(x: Tensor, host_lengths: NDArray[np.int64], layers: Sequence[nn.LSTM | nn.GRU]) -> Sentences:
    """Return sentences x (B, S, I) of lengths (B,), known to the CPU, in the form that these layers run over."""
    padded = all(has_padded_lstm(x, layer) for layer in layers)
    return PaddedSentences(x, host_lengths) if padded else PackedSentences(x, host_lengths)


class PackedSentences:
    """The reference, which any layer and device has: PyTorch's loop over packed sentences."""

    def __init__(self, x: Tensor, host_lengths: NDArray[np.int64]) -> None:
        # Sorted by the CPU's copy of the lengths: PyTorch's own sorting would wait for a GPU at every step.
        order = np.argsort(-host_lengths, kind="stable")
        orders = torch.from_numpy(np.stack([order, order.argsort()]))
        orders = orders.pin_memory() if x.is_cuda else orders
        sort, self._unsort = orders.to(x.device, non_blocking=True)
        lengths = torch.from_numpy(host_lengths[order])
        self.inputs, self._batch_sizes, *_ = pack_padded_sequence(x.index_select(0, sort), lengths, batch_first=True)
        self._width = x.shape[1]

    def run(self, layer: nn.LSTM | nn.GRU, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        output, last = run_recurrent(layer, PackedSequence(x, self._batch_sizes))
        return output.data, tuple(part.transpose(0, 1).flatten(1).index_select(0, self._unsort) for part in last)

    def pad(self, x: Tensor) -> Tensor:
        padded, _ = pad_packed_sequence(PackedSequence(x, self._batch_sizes), True, total_length=self._width)
        return padded.index_select(0, self._unsort)


class PaddedSentences:
    """Sentences as they are, for ``padded_lstm``."""

    def __init__(self, x: Tensor, host_lengths: NDArray[np.int64]) -> None:
        self.inputs, self._lengths = x, torch.from_numpy(host_lengths)

    def run(self, layer: nn.LSTM | nn.GRU, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        assert isinstance(layer, nn.LSTM)
        return padded_lstm(layer, x, self._lengths)

    def pad(self, x: Tensor) -> Tensor:
        padding = torch.arange(x.shape[1]) >= self._lengths[:, None]
        return x.masked_fill(padding.unsqueeze(-1), 0)
