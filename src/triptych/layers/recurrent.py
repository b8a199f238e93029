"""Recurrent layers: fused kernels over whole sequences, and the same weights step by step.

B sentences, S source and T target positions, I features of an input, H units, G gates (LSTM 4, GRU 3).
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from triptych.kernels.dropout import Dropout
from triptych.kernels.loop_matmul import Product

Carried = tuple[Tensor, ...]
"""What one layer carries from step to step, each (B, H): (h, c) of an LSTM, (h,) of a GRU."""
Weights = tuple[Tensor, Tensor, Tensor, Tensor]
"""W_ih (G * H, I), W_hh (G * H, H), b_ih and b_hh (G * H,) of one direction."""


def lstm_cell(inputs: Tensor, carried: Carried, weight: Tensor, bias: Tensor, product: Product) -> Carried:
    """c' = f * c + i * g, h' = o * tanh(c') (Hochreiter and Schmidhuber 1997; Gers et al. 2000), as ``nn.LSTMCell``.

    Args:
        inputs: (B, 4H) W_ih x + b_ih, in the order i, f, g, o.
        carried: h and c, each (B, H).
        weight: (4H, H) W_hh.
        bias: (4H,) b_hh.
        product: h by W_hh's transpose.
    """
    h, c = carried
    # In place, since a loop of steps spends a part of its time on asking for memory.
    i, f, g, o = product(h, weight.T).add_(inputs).add_(bias).unsafe_chunk(4, dim=-1)
    c = f.sigmoid_() * c + i.sigmoid_() * g.tanh_()
    return o.sigmoid_() * c.tanh(), c


def gru_cell(inputs: Tensor, carried: Carried, weight: Tensor, bias: Tensor, product: Product) -> Carried:
    """h' = (1 - z) * n + z * h (Cho et al. 2014; the reset gate inside, as ``nn.GRUCell``).

    Args:
        inputs: (B, 3H) W_ih x + b_ih, in the order r, z, n.
        carried: h alone, (B, H).
        weight: (3H, H) W_hh.
        bias: (3H,) b_hh.
        product: h by W_hh's transpose.
    """
    (h,) = carried
    input_r, input_z, input_n = inputs.chunk(3, dim=-1)
    hidden_r, hidden_z, hidden_n = product(h, weight.T).add_(bias).chunk(3, dim=-1)
    z = (input_z + hidden_z).sigmoid()
    n = (input_n + (input_r + hidden_r).sigmoid() * hidden_n).tanh()
    return (n + z * (h - n),)


Cell = Callable[[Tensor, Carried, Tensor, Tensor, Product], Carried]
CELLS: dict[str, tuple[type[nn.LSTM] | type[nn.GRU], Cell]] = {
    "lstm": (nn.LSTM, lstm_cell),
    "gru": (nn.GRU, gru_cell),
}
SHUT = 1e4
"""Before the logistic function: what makes a gate 0 or 1 to the last bit, whatever else is added."""


@functools.cache
def has_bf16() -> bool:
    """Whether this CPU has instructions for bfloat16, and PyTorch kernels for them, which others emulate slowly."""
    kernels = torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return kernels and (platform.machine() != "x86_64" or torch.cpu._is_avx512_bf16_supported())


def fused_precision(device: torch.device) -> torch.autocast:
    """Autocast as it is, on a CPU with instructions for bfloat16; elsewhere fused kernels run outside of it.

    cuDNN's wrapper would take float16 for bfloat16, and other CPUs have no kernel for it. TensorFloat-32 still speeds
    up their products.
    """
    enabled = device.type == "cpu" and torch.is_autocast_enabled("cpu") and has_bf16()
    return torch.autocast(device.type, torch.get_autocast_dtype(device.type), enabled=enabled)


def init_gates(weight: Tensor, rows: int, init: Callable[[Tensor], Tensor] = nn.init.xavier_uniform_) -> None:
    """Initialises every block of so many rows, one gate's matrix, for itself."""
    for gate in torch.split(weight.detach(), rows):
        init(gate)


class Layer(nn.Module):
    """One recurrent layer, in one direction or both.

    Initialised with Xavier inputs, orthogonal recurrences, zero biases, and 1 for an LSTM's forget gate (Jozefowicz
    et al. 2015).

    Attributes:
        parts: how many tensors it carries: 2 (LSTM) or 1 (GRU).
        gates: G.
        output_size: H times the directions.
        shut: of an LSTM, (4H, 1) weights by which an input shuts the input gate and opens the forget gate.
    """

    shut: Tensor

    def __init__(self, *, cell: str, input_size: int, hidden_size: int, bidirectional: bool = False) -> None:
        super().__init__()
        fused, self.cell = CELLS[cell]
        self.rnn = fused(input_size, hidden_size, batch_first=True, bidirectional=bidirectional)
        self.parts, self.gates = (2, 4) if cell == "lstm" else (1, 3)
        self.output_size = hidden_size * (2 if bidirectional else 1)
        if cell == "lstm":
            shut = torch.zeros(4, hidden_size, 1)
            shut[0], shut[1] = -SHUT, SHUT
            self.register_buffer("shut", shut.flatten(0, 1), persistent=False)
        for name, parameter in self.rnn.named_parameters():
            if name.startswith("weight"):
                init_gates(parameter, hidden_size, nn.init.xavier_uniform_ if "_ih_" in name else nn.init.orthogonal_)
            else:
                nn.init.zeros_(parameter)
                if cell == "lstm" and "_ih_" in name:
                    nn.init.ones_(parameter.detach()[hidden_size : 2 * hidden_size])

    def read(self, packed: PackedSequence) -> tuple[PackedSequence, Carried]:
        """A packed batch through the fused kernel, from zeros: outputs, and what is carried, (B, dirs * H)."""
        with fused_precision(packed.data.device):
            output, last = self.rnn(packed)
        return output, tuple(part.transpose(0, 1).flatten(1) for part in (last if self.parts == 2 else (last,)))

    def read_padded(self, x: Tensor, lengths: Tensor, padding: Tensor) -> tuple[Tensor, Carried]:
        """The same of an LSTM over (B, S, I), by a kernel that knows no lengths; what it gives on padding says nothing.

        One more input, 1 on padding, shuts the input gate and opens the forget gate there: a cell that has come to the
        end of its sentence stays as it is, and one that comes from the other side stays zero, and with it the state.

        Args:
            x: whatever it has on padding.
            lengths: (B,) of the sentences.
            padding: (B, S, 1) 1 on padding, 0 elsewhere.
        """
        directions = self.rnn.all_weights
        weights = [part for w_ih, *others in directions for part in (torch.cat([w_ih, self.shut], 1), *others)]
        first = x.new_zeros(len(directions), len(x), self.rnn.hidden_size)
        both = len(directions) == 2
        with fused_precision(x.device):
            inputs = torch.cat([x, padding], -1)
            output, h, c = torch.lstm(inputs, (first, first), weights, True, 1, 0.0, self.training, both, True)
        last = output[torch.arange(len(x)), lengths - 1, : self.rnn.hidden_size]
        return output, (torch.cat([last, *h[1:]], 1), c.transpose(0, 1).flatten(1))

    def forward(self, x: Tensor, carried: Carried) -> tuple[Tensor, Carried]:
        """All of x (B, T, I) through the fused kernel: outputs (B, T, H), and what is carried after the last step."""
        first = tuple(part.unsqueeze(0).contiguous() for part in carried)
        with fused_precision(x.device):
            output, last = self.rnn(x, first if self.parts == 2 else first[0])
        return output, tuple(part.squeeze(0) for part in (last if self.parts == 2 else (last,)))

    @property
    def weights(self) -> Weights:
        """Of the forward direction; taken once for all steps, and outside of what is compiled."""
        weight_ih, weight_hh, bias_ih, bias_hh = self.rnn.all_weights[0]
        return weight_ih, weight_hh, bias_ih, bias_hh

    def inputs(self, x: Tensor, weights: Weights, product: Product = torch.matmul) -> Tensor:
        """W_ih x + b_ih: (…, I) to (…, G * H), for any number of steps at once."""
        return product(x, weights[0].T).add_(weights[2])

    def step(self, inputs: Tensor, carried: Carried, weights: Weights, product: Product = torch.matmul) -> Carried:
        """One step, given its ``inputs`` (B, G * H)."""
        return self.cell(inputs, carried, weights[1], weights[3], product)

    def flops(self, steps: int) -> int:
        """Of ``steps`` steps of one sentence, in all directions."""
        return 2 * steps * sum(parameter.numel() for parameter in self.parameters() if parameter.dim() == 2)


def add_residual(x: Tensor, output: Tensor, index: int, enabled: bool) -> Tensor:
    """Adds a layer's input to its output, from the third layer on (Wu et al. 2016, section 3.1)."""
    return x + output if enabled and index >= 2 else output


class Encoder(nn.Module):
    """A stack of layers that read sentences as if there were no padding.

    Args:
        cell: ``lstm`` or ``gru``.
        num_layers: how many.
        input_size: I of the first layer.
        hidden_size: H, of each direction.
        bidirectional: ``all`` layers read both ways, the ``first`` alone (Wu et al. 2016, section 3.2), or ``none``.
        residual: see ``add_residual``.
        dropout: on every layer's input.

    Attributes:
        output_size: M, H times the directions of the top layer.
    """

    def __init__(
        self,
        *,
        cell: str,
        num_layers: int,
        input_size: int,
        hidden_size: int,
        bidirectional: str,
        residual: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        self.stack = nn.ModuleList()
        for i in range(num_layers):
            both = bidirectional == "all" or (bidirectional == "first" and i == 0)
            layer = Layer(cell=cell, input_size=input_size, hidden_size=hidden_size, bidirectional=both)
            self.stack.append(layer)
            input_size = layer.output_size
        self.output_size = input_size
        self.residual = residual
        self.dropout = Dropout(dropout)

    @property
    def layers(self) -> list[Layer]:
        return [layer for layer in self.stack if isinstance(layer, Layer)]

    def forward(self, embedded: Tensor, host_lengths: NDArray[np.int64]) -> tuple[Tensor, list[Carried]]:
        """Embedded sources (B, S, I) of lengths (B,), in the host's memory, to the memory (B, S, M), zero on padding,
        and what each layer carries after the last word of each direction, (B, dirs * H)."""
        lengths = torch.from_numpy(host_lengths)
        if self._pads(embedded):
            return self._over_padding(embedded, lengths)
        # Sorted by what the host knows: PyTorch's own sorting would wait for a GPU at every step.
        order = np.argsort(-host_lengths, kind="stable")
        places = torch.from_numpy(np.stack([order, order.argsort()]))
        places = places.pin_memory() if embedded.is_cuda else places
        sort, unsort = places.to(embedded.device, non_blocking=True)
        packed = pack_padded_sequence(embedded.index_select(0, sort), lengths[order], batch_first=True)
        x, finals = packed.data, []
        for i, layer in enumerate(self.layers):
            output, final = layer.read(PackedSequence(self.dropout(x), packed.batch_sizes))
            x = add_residual(x, output.data, i, self.residual)
            finals.append(tuple(part.index_select(0, unsort) for part in final))
        memory, _ = pad_packed_sequence(PackedSequence(x, packed.batch_sizes), True, total_length=embedded.shape[1])
        return memory.index_select(0, unsort), finals

    def _pads(self, embedded: Tensor) -> bool:
        """Whether oneDNN reads it: it is more than twice as fast as PyTorch's own loop over packed sentences, which it
        does not take."""
        fits = (
            embedded.device.type == "cpu" and embedded.dtype == torch.float32 and torch.backends.mkldnn.is_available()
        )
        return fits and all(layer.parts == 2 for layer in self.layers)

    def _over_padding(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, list[Carried]]:
        padding = (torch.arange(x.shape[1]) >= lengths[:, None]).unsqueeze(-1)
        finals = []
        for i, layer in enumerate(self.layers):
            output, final = layer.read_padded(self.dropout(x), lengths, padding.to(x.dtype))
            x = add_residual(x, output, i, self.residual)
            finals.append(final)
        return x.masked_fill(padding, 0), finals

    def flops(self, positions: int) -> int:
        return sum(layer.flops(positions) for layer in self.layers)
