"""Run recurrent layers step by step, to measure what one call for the whole sequence saves."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from triptych.kernels.precision import cast_once
from triptych.layers.encoder_decoder import RecurrentState
from triptych.layers.recurrent import RecurrentLayer, Weights


def take_single_steps(model: nn.Module) -> None:
    """Make every recurrent layer loop over single steps instead of one call; the encoder's loop includes padding."""

    def loop(
        layer: RecurrentLayer, x: Tensor, state: RecurrentState, weights: Weights
    ) -> tuple[Tensor, RecurrentState]:
        weight_ih, weight_hh, bias_ih, bias_hh = weights
        weights = weight_ih, cast_once(weight_hh), bias_ih, bias_hh
        outputs = []
        for inputs in layer.preactivations(x, weights).unbind(1):
            state = layer.step(inputs, state, weights)
            outputs.append(state[0])
        return torch.stack(outputs, 1), state

    def run_packed(
        layer: RecurrentLayer, packed: PackedSequence, _: None = None
    ) -> tuple[PackedSequence, Tensor | RecurrentState]:
        x, lengths = pad_packed_sequence(packed, batch_first=True)
        nothing = tuple(x.new_zeros(len(x), layer.rnn.hidden_size) for _ in range(layer.num_states))
        ways = [
            loop(layer, x.flip(1) if back else x, nothing, (one[0], one[1], one[2], one[3]))
            for back, one in enumerate(layer.rnn.all_weights)
        ]
        output = torch.cat([way.flip(1) if back else way for back, (way, _) in enumerate(ways)], -1)
        state = tuple(torch.stack(parts) for parts in zip(*(state for _, state in ways), strict=True))
        packed = pack_padded_sequence(output, lengths, batch_first=True)
        return packed, state if layer.num_states == 2 else state[0]

    for module in model.modules():
        if isinstance(module, RecurrentLayer):
            module.forward = lambda x, state, layer=module: loop(layer, x, state, layer.weights)  # type: ignore
            module.rnn.forward = partial(run_packed, module)  # type: ignore
