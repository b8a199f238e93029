"""Recurrent layers, over whole sequences by fused kernels, or step by step, with the same weights; and their encoder.

B sentences, S source and T target positions, I dimension of an input, H units, G gates (LSTM 4, GRU 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

from triptych.contract.flat_config import flat_config
from triptych.errors import UserError, require_at_least, require_one_of, require_probability
from triptych.kernels.dropout import Dropout
from triptych.kernels.fused_recurrent import run_recurrent
from triptych.kernels.in_place import Cell, gru_cell, lstm_cell
from triptych.kernels.loop_matmul import matmul
from triptych.kernels.lstm import sentences
from triptych.layers.encoder_decoder import Encoder, Memory, RecurrentState
from triptych.layers.sequence_layout import SequenceLayout
from triptych.ranges import Layers, Probability, Size

Weights = tuple[Tensor, Tensor, Tensor, Tensor]
"""W_ih (G * H, I), W_hh (G * H, H), b_ih and b_hh (G * H,) of one direction."""


CELLS: dict[str, tuple[type[nn.LSTM] | type[nn.GRU], Cell]] = {
    "lstm": (nn.LSTM, lstm_cell),
    "gru": (nn.GRU, gru_cell),
}


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig:
    """What a recurrent encoder and decoder share; the field names are the configuration's keys.

    Attributes:
        cell: ``lstm`` or ``gru``.
        embedding_size: E, dimension of an embedded token.
        hidden_size: H, of each direction.
        residual: from the third layer on, a layer's input is added to its output (Wu et al. 2016, section 3.1).
        dropout: on the input of every layer and of W_o (Zaremba et al. 2014).

    Raises:
        UserError: a value that is not allowed.
    """

    cell: str
    embedding_size: Size
    hidden_size: Size
    residual: bool
    dropout: Probability

    def __post_init__(self) -> None:
        require_one_of(CELLS, "model", cell=self.cell)
        require_at_least(1, "model", embedding_size=self.embedding_size, hidden_size=self.hidden_size)
        require_probability("model", dropout=self.dropout)


def init_gates(weight: Tensor, rows: int, init: Callable[[Tensor], Tensor] = nn.init.xavier_uniform_) -> None:
    """Initialise the matrix of each gate, ``rows`` rows, separately."""
    for gate in weight.detach().split(rows):
        init(gate)


class RecurrentLayer(nn.Module):
    """One recurrent layer, in one direction or both.

    Initialised with Xavier inputs, orthogonal recurrences, zero biases, and 1 for an LSTM's forget gate (Jozefowicz
    et al. 2015).

    Attributes:
        num_states: tensors of a ``RecurrentState``: 2 (LSTM) or 1 (GRU).
        num_gates: G.
        output_size: H times the directions.
    """

    def __init__(self, *, cell: str, input_size: int, hidden_size: int, bidirectional: bool = False) -> None:
        super().__init__()
        fused, self.cell = CELLS[cell]
        self.rnn = fused(input_size, hidden_size, batch_first=True, bidirectional=bidirectional)
        self.num_states, self.num_gates = (2, 4) if cell == "lstm" else (1, 3)
        self.output_size = hidden_size * (2 if bidirectional else 1)
        for name, parameter in self.rnn.named_parameters():
            if name.startswith("weight"):
                init_gates(parameter, hidden_size, nn.init.xavier_uniform_ if "_ih_" in name else nn.init.orthogonal_)
            else:
                nn.init.zeros_(parameter)
                if cell == "lstm" and "_ih_" in name:
                    nn.init.ones_(parameter.detach()[hidden_size : 2 * hidden_size])

    def forward(self, x: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Run all steps of x (B, T, I) from a state: outputs (B, T, H), and the state after the last step."""
        first = tuple(part.unsqueeze(0).contiguous() for part in state)
        output, last = run_recurrent(self.rnn, x, first)
        return output, tuple(part.squeeze(0) for part in last)

    @property
    def weights(self) -> Weights:
        """Of the forward direction. Fetch them once for all steps, and outside of compiled code."""
        weight_ih, weight_hh, bias_ih, bias_hh = self.rnn.all_weights[0]
        return weight_ih, weight_hh, bias_ih, bias_hh

    def preactivations(self, x: Tensor, weights: Weights) -> Tensor:
        """Return W_ih x + b_ih for any number of steps at once: (…, I) to (…, G * H)."""
        return matmul(x, weights[0].T).add_(weights[2])

    def step(self, inputs: Tensor, state: RecurrentState, weights: Weights) -> RecurrentState:
        """Run one step from its ``preactivations`` (B, G * H)."""
        return self.cell(inputs, state, weights[1], weights[3])

    def flops(self, steps: int) -> int:
        """Count those of ``steps`` steps of one sentence, in all directions."""
        return 2 * steps * sum(parameter.numel() for parameter in self.parameters() if parameter.dim() == 2)


def add_residual(x: Tensor, output: Tensor, index: int, enabled: bool) -> Tensor:
    """Add a layer's input to its output, from the third layer on (Wu et al. 2016, section 3.1)."""
    return x + output if enabled and index >= 2 else output


def require_residual_layers(config: RecurrentConfig, num_layers: int) -> None:
    """Refuse residual connections of an encoder or decoder that is too shallow to have any."""
    if config.residual and num_layers < 3:
        raise UserError("residual=true starts at the third layer; set num_layers to 3 or more, or residual=false.")


class RecurrentEncoder(Encoder):
    """Recurrent layers that never see padding.

    Args:
        config: what encoder and decoder share.
        num_layers: number of layers.
        bidirectional: which layers read both ways: ``all``, the ``first`` alone (Wu et al. 2016, section 3.2), or
            ``none``.

    Raises:
        UserError: a value that is not allowed.
    """

    sizes = (("hidden_size",),)

    @flat_config
    def __init__(self, config: RecurrentConfig, *, num_layers: Layers, bidirectional: str) -> None:
        super().__init__()
        require_one_of(("all", "first", "none"), "model", bidirectional=bidirectional)
        require_at_least(1, "model", num_layers=num_layers)
        require_residual_layers(config, num_layers)
        self.embedding_size = size = config.embedding_size
        self.stack = nn.ModuleList()
        for i in range(num_layers):
            both = bidirectional == "all" or (bidirectional == "first" and i == 0)
            layer = RecurrentLayer(
                cell=config.cell, input_size=size, hidden_size=config.hidden_size, bidirectional=both
            )
            self.stack.append(layer)
            size = layer.output_size
        self.memory_size = size
        self.final_state_sizes = [layer.output_size for layer in self.layers]
        self.residual = config.residual
        self.dropout = Dropout(config.dropout)

    @property
    def layers(self) -> list[RecurrentLayer]:
        return [layer for layer in self.stack if isinstance(layer, RecurrentLayer)]

    def forward(self, embedded: Tensor, layout: SequenceLayout) -> Memory:
        """Encode embedded sources (B, S, E). The memory is zero on padding."""
        assert layout.host_lengths is not None
        batch = sentences(embedded, layout.host_lengths, [layer.rnn for layer in self.layers])
        x, final_states = batch.inputs, []
        for i, layer in enumerate(self.layers):
            output, last = batch.run(layer.rnn, self.dropout(x))
            x = add_residual(x, output, i, self.residual)
            final_states.append(last)
        return Memory(batch.pad(x), layout, final_states)

    def flops(self, src_length: int) -> int:
        return sum(layer.flops(src_length) for layer in self.layers)
