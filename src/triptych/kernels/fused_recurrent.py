"""Fused recurrent layers in the precision that training multiplies in."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from triptych import kernels
from triptych.kernels.precision import autocast_dtype, fused_precision, fused_precision_reference, without_autocast

State = tuple[Tensor, ...]
"""h and c of an LSTM, h of a GRU, each (directions, B, H)."""
Steps = TypeVar("Steps", Tensor, PackedSequence)
"""Inputs or outputs of all steps: (B, T, …), batch first, or packed sentences."""
CUDNN_WITH_BF16 = 91_300
"""Oldest version of cuDNN, as PyTorch counts them, whose recurrent layers take bfloat16."""

# Weights that are cast one by one do not lie side by side, and cuDNN gathers them at every call: that takes no time
# beside the layer.
warnings.filterwarnings("ignore", message=".*weights are not part of single contiguous chunk")


def run_recurrent_reference(layer: nn.LSTM | nn.GRU, x: Steps, state: State | None = None) -> tuple[Steps, State]:
    """``run_recurrent`` in single precision."""
    with fused_precision_reference(x.data.device):
        return _run(layer, x, state)


def run_recurrent(layer: nn.LSTM | nn.GRU, x: Steps, state: State | None = None) -> tuple[Steps, State]:
    """Run a fused layer. Under autocast, it multiplies in half precision where that works.

    On a GPU that is cuDNN, for which weights are cast here: autocast would take float16 for bfloat16. On a CPU, see
    ``fused_precision``.

    Args:
        layer: one LSTM or GRU layer, batch first, in one direction or both.
        x: inputs.
        state: before the first step; None for zeros.

    Returns:
        Outputs in the form of x, and the state after the last step.
    """
    device = x.data.device
    if not kernels.fast():
        return run_recurrent_reference(layer, x, state)
    dtype = autocast_dtype(device) if device.type == "cuda" else None
    if dtype is not None and (dtype != torch.bfloat16 or (torch.backends.cudnn.version() or 0) >= CUDNN_WITH_BF16):
        with without_autocast(device):
            return run_cast(layer, x, state, dtype)
    with fused_precision(device):
        return _run(layer, x, state)


def run_cast(layer: nn.LSTM | nn.GRU, x: Steps, state: State | None, dtype: torch.dtype) -> tuple[Steps, State]:
    """``run_recurrent`` with inputs, state and weights cast to a type, which the outputs then have.

    A state too has this type after every step, as it has on a CPU.
    """
    assert (layer.num_layers, layer.bias, layer.dropout, layer.proj_size) == (1, True, 0, 0)
    assert not isinstance(x, PackedSequence) or x.sorted_indices is None
    weights = [weight.to(dtype) for direction in layer.all_weights for weight in direction]
    is_lstm, packed = isinstance(layer, nn.LSTM), isinstance(x, PackedSequence)
    if state is None:
        count = int(x.batch_sizes[0]) if isinstance(x, PackedSequence) else len(x)
        zeros = x.data.new_zeros(2 if layer.bidirectional else 1, count, layer.hidden_size)
        state = (zeros,) * (2 if is_lstm else 1)
    first = tuple(part.to(dtype) for part in state)
    inputs = (x.data.to(dtype), x.batch_sizes) if isinstance(x, PackedSequence) else (x.to(dtype),)
    form = () if packed else (layer.batch_first,)
    run: Any = torch.lstm if is_lstm else torch.gru
    output, *last = run(
        *inputs, first if is_lstm else first[0], weights, True, 1, 0.0, layer.training, layer.bidirectional, *form
    )
    return PackedSequence(output, x.batch_sizes) if isinstance(x, PackedSequence) else output, tuple(last)


def _run(layer: nn.LSTM | nn.GRU, x: Steps, state: State | None) -> tuple[Steps, State]:
    output, last = layer(x, state[0] if state is not None and len(state) == 1 else state)
    return output, last if isinstance(last, tuple) else (last,)
