"""Recurrent encoder-decoder, without attention (Sutskever et al. 2014) or with that of Bahdanau or Luong.

B sentences, S source and T target positions, E features of an embedding, H units, M features of the memory.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from triptych.batch import Batch, Prediction, Vocabulary
from triptych.errors import UserError
from triptych.layers.alignment import Alignment
from triptych.layers.embedding import Vocabularies
from triptych.layers.recurrent import CELLS, Carried, Encoder, Layer, add_residual
from triptych.models.base import AttentionMap, State, Trace, TranslationModel, keep_targets, padding_mask

LUONG_SCORES = ("dot", "general", "concat", "scaled_dot")


class RNN(TranslationModel):
    """An encoder reads the source; a decoder starts from its final states and, with attention, looks back.

    ``none``: the final states are all that the decoder learns of the source. ``bahdanau``: the state before step i
    asks, s_i = f(s_{i-1}, y_{i-1}, c_i) (Bahdanau et al. 2015, equation 4). ``luong``: the state s_i asks (Luong et al.
    2015, section 3). Each layer of the decoder starts at tanh(W h + b) of a layer of the encoder, counted from the top.
    The hidden vectors are tanh(W_o […]) of the state and, where there are any, the context and (bahdanau) the last
    embedding. They have E features, so that any tying fits.

    Args:
        vocabulary: sizes of the vocabularies.
        cell: ``lstm`` or ``gru``.
        encoder_layers, decoder_layers: how many layers.
        bidirectional: which layers of the encoder read both ways, ``all``, ``first`` or ``none``.
        embedding_size: E.
        hidden_size: H, of each direction.
        residual: from the third layer on, a layer's input is added to its output.
        attention: ``none``, ``bahdanau`` or ``luong``.
        score: Luong's, ``dot``, ``general``, ``concat`` or ``scaled_dot``; None is ``general``, and the only choice
            without luong. A product needs equal sizes: the memory of a bidirectional top layer is then projected to H.
        attention_layer: with bahdanau, whose last state asks: the ``top`` layer's, and the context enters the bottom
            layer; or the ``bottom`` layer's, and it enters all of them (GNMT, Wu et al. 2016, section 3).
        input_feeding: with luong, the last hidden vector enters the bottom layer (Luong et al. 2015, section 3.3).
        dropout: on the input of every layer and of W_o (Zaremba et al. 2014).
        tying: which vocabulary matrices are one, see ``Vocabularies``.

    Raises:
        UserError: a value that is not allowed, or one that the others leave without effect.
    """

    def __init__(
        self,
        *,
        vocabulary: Vocabulary,
        cell: str,
        encoder_layers: int,
        decoder_layers: int,
        bidirectional: str,
        embedding_size: int,
        hidden_size: int,
        residual: bool,
        attention: str,
        score: str | None,
        attention_layer: str,
        input_feeding: bool,
        dropout: float,
        tying: str,
    ) -> None:
        super().__init__()
        check_choices(
            cell=(cell, tuple(CELLS)),
            bidirectional=(bidirectional, ("all", "first", "none")),
            attention=(attention, ("none", "bahdanau", "luong")),
            attention_layer=(attention_layer, ("top", "bottom")),
        )
        check_sizes(
            encoder_layers=encoder_layers,
            decoder_layers=decoder_layers,
            embedding_size=embedding_size,
            hidden_size=hidden_size,
        )
        check_attention(attention, score, attention_layer, input_feeding)
        if not 0 <= dropout < 1:
            raise UserError(f"model.dropout={dropout} is no probability; give 0 or more, and less than 1.")
        if residual and max(encoder_layers, decoder_layers) < 3:
            raise UserError(
                "model.residual=true starts at the third layer; set model.encoder_layers or model.decoder_layers to 3 "
                "or more, or model.residual=false."
            )
        self.attention, self.input_feeding = attention, input_feeding
        self.residual, self.dropout = residual, dropout
        self.asking = 0 if attention_layer == "bottom" else decoder_layers - 1

        self.vocabularies = Vocabularies(vocabulary=vocabulary, size=embedding_size, tying=tying)
        self.encoder = Encoder(
            cell=cell,
            num_layers=encoder_layers,
            input_size=embedding_size,
            hidden_size=hidden_size,
            bidirectional=bidirectional,
            residual=residual,
            dropout=dropout,
        )
        below = [embedding_size] + [hidden_size] * (decoder_layers - 1)
        self.decoder = nn.ModuleList(Layer(cell=cell, input_size=size, hidden_size=hidden_size) for size in below)
        readers = [self.encoder.layers[max(0, encoder_layers - decoder_layers + i)] for i in range(decoder_layers)]
        self.bridges = nn.ModuleList(
            nn.Linear(reader.output_size, hidden_size) for reader in readers for _ in range(reader.parts)
        )
        self.readers = readers
