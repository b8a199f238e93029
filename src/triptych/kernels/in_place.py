"""Equations of recurrent models, computed in place, since a loop of steps spends part of its time on allocating memory.

B sentences, H units; a cell's state is (h, c) of an LSTM, (h,) of a GRU, each (B, H).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from triptych import kernels
from triptych.kernels.loop_matmul import matmul

State = tuple[Tensor, ...]
Cell = Callable[[Tensor, State, Tensor, Tensor], State]


def lstm_cell_reference(inputs: Tensor, state: State, weight: Tensor, bias: Tensor) -> State:
    """``lstm_cell`` as its equations."""
    h, c = state
    i, f, g, o = (inputs + matmul(h, weight.T) + bias).chunk(4, dim=-1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def lstm_cell(inputs: Tensor, state: State, weight: Tensor, bias: Tensor) -> State:
    """c' = f * c + i * g, h' = o * tanh(c') (Hochreiter and Schmidhuber 1997; Gers et al. 2000), as ``nn.LSTMCell``.

    Args:
        inputs: (B, 4H) W_ih x + b_ih, in the order i, f, g, o.
        state: h and c.
        weight: (4H, H) W_hh.
        bias: (4H,) b_hh.
    """
    if not kernels.fast():
        return lstm_cell_reference(inputs, state, weight, bias)
    h, c = state
    i, f, g, o = matmul(h, weight.T).add_(inputs).add_(bias).unsafe_chunk(4, dim=-1)
    c = f.sigmoid_() * c + i.sigmoid_() * g.tanh_()
    return o.sigmoid_() * c.tanh(), c


def gru_cell_reference(inputs: Tensor, state: State, weight: Tensor, bias: Tensor) -> State:
    """``gru_cell`` as its equations."""
    (h,) = state
    input_r, input_z, input_n = inputs.chunk(3, dim=-1)
    hidden_r, hidden_z, hidden_n = (matmul(h, weight.T) + bias).chunk(3, dim=-1)
    r = (input_r + hidden_r).sigmoid()
    z = (input_z + hidden_z).sigmoid()
    n = (input_n + r * hidden_n).tanh()
    return (n + z * (h - n),)


def gru_cell(inputs: Tensor, state: State, weight: Tensor, bias: Tensor) -> State:
    """h' = (1 - z) * n + z * h, computed as n + z * (h - n) (Cho et al. 2014).

    Unlike the paper's, the reset gate multiplies the product, as in ``nn.GRUCell``:
    n = tanh(W_in x + b_in + r * (W_hn h + b_hn)).

    Args:
        inputs: (B, 3H) W_ih x + b_ih, in the order r, z, n.
        state: h alone.
        weight: (3H, H) W_hh.
        bias: (3H,) b_hh.
    """
    if not kernels.fast():
        return gru_cell_reference(inputs, state, weight, bias)
    (h,) = state
    input_r, input_z, input_n = inputs.chunk(3, dim=-1)
    hidden_r, hidden_z, hidden_n = matmul(h, weight.T).add_(bias).chunk(3, dim=-1)
    z = (input_z + hidden_z).sigmoid()
    n = (input_n + (input_r + hidden_r).sigmoid() * hidden_n).tanh()
    return (n + z * (h - n),)


def tanh_of_sum_reference(x: Tensor, y: Tensor) -> Tensor:
    """``tanh_of_sum`` as its equation."""
    return torch.tanh(x + y)


def tanh_of_sum(x: Tensor, y: Tensor) -> Tensor:
    """Return tanh(x + y), in the memory of the sum."""
    return (x + y).tanh_() if kernels.fast() else tanh_of_sum_reference(x, y)


def biased_tanh_reference(x: Tensor, bias: Tensor) -> Tensor:
    """``biased_tanh`` as its equation. Under autocast it has the precision of the bias."""
    return torch.tanh(x + bias)


def biased_tanh(x: Tensor, bias: Tensor) -> Tensor:
    """Return tanh(x + b) for x (…, F) and b (F,), in the memory and in the precision of x, which is overwritten."""
    return x.add_(bias).tanh_() if kernels.fast() else biased_tanh_reference(x, bias)
