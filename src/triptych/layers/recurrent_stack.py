"""The layers of a recurrent decoder: the states they start from, and one or all of their steps.

B sentences, T target positions, E dimension of an embedding, H units, G gates, L layers.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from triptych.errors import require_at_least
from triptych.kernels.dropout import Dropout
from triptych.layers.encoder_decoder import Encoder, Memory, RecurrentState
from triptych.layers.recurrent import RecurrentConfig, RecurrentLayer, Weights, add_residual, require_residual_layers
from triptych.ranges import Layers


class RecurrentStack(nn.Module):
    """Recurrent layers in one direction, which start from an encoder's last states.

    Decoder layer l from the top starts at s_0 = tanh(W h + b), where h is the last state of encoder layer l from the
    top, in both directions. If the encoder is shallower, the other layers start from its bottom layer. If it has no
    states, h is the mean of its memory (as in Nematus, Sennrich et al. 2017).

    Args:
        config: what encoder and decoder share.
        num_layers: L.
        encoder: whose states they start from.
    """

    def __init__(self, config: RecurrentConfig, *, num_layers: Layers, encoder: Encoder) -> None:
        super().__init__()
        require_at_least(1, "model", num_layers=num_layers)
        require_residual_layers(config, num_layers)
        self.embedding_size, self.hidden_size = config.embedding_size, config.hidden_size
        self.residual, self.dropout = config.residual, Dropout(config.dropout)
        below = [config.embedding_size] + [config.hidden_size] * (num_layers - 1)
        self.stack = nn.ModuleList(
            RecurrentLayer(cell=config.cell, input_size=size, hidden_size=config.hidden_size) for size in below
        )
        self.num_states = self.layers[0].num_states
        sizes = encoder.final_state_sizes or [encoder.memory_size]
        self.starts_from = [max(0, len(sizes) - num_layers + i) for i in range(num_layers)]
        self.bridges = nn.ModuleList(
            nn.Linear(sizes[i], config.hidden_size) for i in self.starts_from for _ in range(self.num_states)
        )

    @property
    def layers(self) -> list[RecurrentLayer]:
        return [layer for layer in self.stack if isinstance(layer, RecurrentLayer)]

    def first_states(self, memory: Memory) -> Tensor:
        """Return s_0 of each layer, (B, L, 1 or 2, H), in the encoder's precision also under autocast."""
        last = memory.final_states or [(memory.mean(),)]
        # An LSTM's c starts from h where the encoder has no c.
        parts = [last[i][min(part, len(last[i]) - 1)] for i in self.starts_from for part in range(self.num_states)]
        bridged = [torch.tanh(bridge(part)) for bridge, part in zip(self.bridges, parts, strict=True)]
        states = torch.stack(bridged, 1).to(memory.vectors.dtype)
        return states.reshape(len(states), -1, self.num_states, self.hidden_size)

    def run_layers(self, x: Tensor, states: list[RecurrentState]) -> tuple[Tensor, list[RecurrentState]]:
        """Run all steps: (B, T, E) to the top layer's outputs (B, T, H), and the last states."""
        last = []
        for i, layer in enumerate(self.layers):
            output, state = layer(x if i == 0 else self.dropout(x), states[i])
            x = add_residual(x, output, i, self.residual)
            last.append(state)
        return x, last

    def step_layers(
        self, inputs: Tensor, entering: Sequence[Tensor], states: list[RecurrentState], parameters: list[Weights]
    ) -> tuple[Tensor, list[RecurrentState]]:
        """Run one step: the top layer's output (B, H), and the new states.

        Args:
            inputs: (B, G * H) W_ih y_{i-1} + b_ih of the bottom layer.
            entering: what the lowest layers' gates receive besides, each (B, G * H).
            states: of each layer.
            parameters: of each layer.
        """
        x, new = inputs, []  # this x is never used: residuals start at the third layer
        for i, layer in enumerate(self.layers):
            if i > 0:
                inputs = layer.preactivations(self.dropout(x), parameters[i])
            if i < len(entering):
                inputs = inputs + entering[i]
            new.append(layer.step(inputs, states[i], parameters[i]))
            x = add_residual(x, new[i][0], i, self.residual)
        return x, new

    def layer_flops(self, steps: int) -> int:
        """Count those of ``steps`` steps of one sentence, and of the states they start from."""
        matrices = [weight for weight in self.bridges.parameters() if weight.dim() == 2]
        return sum(layer.flops(steps) for layer in self.layers) + sum(2 * weight.numel() for weight in matrices)


def layer_states(recurrent: Tensor) -> list[RecurrentState]:
    """Return the states (B, L, 1 or 2, H) layer by layer."""
    return [layer.unbind(1) for layer in recurrent.unbind(1)]


def as_tensor(states: list[RecurrentState]) -> Tensor:
    """Return the states of all layers as (B, L, 1 or 2, H)."""
    return torch.stack([torch.stack(layer, 1) for layer in states], 1)
