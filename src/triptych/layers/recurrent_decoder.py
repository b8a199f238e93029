"""The recurrent decoder: all steps at once where it can, one by one where attention feeds back.

B sentences, S source and T target positions, E features of an embedding, H units, M features of the memory, L layers.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from triptych.layers.alignment import Alignment
from triptych.layers.recurrent import Carried, Encoder, Layer, add_residual, init_gates


class RecurrentDecoder(nn.Module):
    """Layers that start from the encoder's final states; attention; and the hidden vectors, tanh(W_o […]).

    What attention returns enters some layers' gates at each step, by a matrix of its own: s_i = f(s_{i-1}, y_{i-1},
    c_i) (Bahdanau et al. 2015, appendix A.2.2). All that does not wait for it is computed for all steps in one product.

    Args:
        encoder: its sizes.
        cell: ``lstm`` or ``gru``.
        num_layers: L.
        embedding_size: E, also the size of the hidden vectors.
        hidden_size: H.
        residual: see ``add_residual``.
        attention: ``none``, ``bahdanau`` or ``luong``.
        score: see ``Alignment``.
        attention_layer: with bahdanau, whose last state asks; ``top``: the context enters the bottom layer, ``bottom``:
            all layers.
        input_feeding: with luong, the last hidden vector enters the bottom layer.
        dropout: on all inputs of layers, and of W_o.
    """

    def __init__(
        self,
        *,
        encoder: Encoder,
        cell: str,
        num_layers: int,
        embedding_size: int,
        hidden_size: int,
        residual: bool,
        attention: str,
        score: str,
        attention_layer: str,
        input_feeding: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        self.attention, self.residual = attention, residual
        self.asking = 0 if attention_layer == "bottom" else -1
        self.dropout = nn.Dropout(dropout)
        below = [embedding_size] + [hidden_size] * (num_layers - 1)
        self.layers = nn.ModuleList(Layer(cell=cell, input_size=size, hidden_size=hidden_size) for size in below)
        # The top layers face each other: the encoder's last word always reaches the decoder.
        self.readers = [max(0, len(encoder) - num_layers + i) for i in range(num_layers)]
        self.bridges = nn.ModuleList(
            nn.Linear(encoder.layers[i].output_size, hidden_size) for i in self.readers for _ in self.stack[0].names
        )
