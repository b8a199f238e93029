"""Recurrent encoder-decoder, without attention (Sutskever et al. 2014) or with that of Bahdanau or Luong.

B sentences, S source and T target positions, E features of an embedding, H units, M features of the memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from triptych.contract.batch import Batch, Prediction
from triptych.contract.decoder_state import DecoderState
from triptych.contract.model import AttentionMap, Trace, TranslationModel
from triptych.contract.vocabulary import Vocabulary
from triptych.errors import UserError, require_at_least, require_one_of, require_probability
from triptych.layers.embedding import TiedEmbeddings
from triptych.layers.recurrent import CELLS, Encoder
from triptych.layers.recurrent_decoder import RecurrentDecoder
from triptych.layers.sequence_layout import keep_targets, padding_mask

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
        tying: which vocabulary matrices are one, see ``TiedEmbeddings``.

    Raises:
        UserError: a value that is not allowed, or one that the others leave without effect.
    """

    sizes = (("hidden_size",),)

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
        require_one_of(CELLS, "model", cell=cell)
        require_one_of(("all", "first", "none"), "model", bidirectional=bidirectional)
        check_attention(attention, score, attention_layer, input_feeding)
        require_at_least(1, "model", encoder_layers=encoder_layers, decoder_layers=decoder_layers)
        require_at_least(1, "model", embedding_size=embedding_size, hidden_size=hidden_size)
        require_probability("model", dropout=dropout)
        if residual and max(encoder_layers, decoder_layers) < 3:
            raise UserError(
                "model.residual=true starts at the third layer; set model.encoder_layers or model.decoder_layers to 3 "
                "or more, or model.residual=false."
            )
        scores = {"none": None, "bahdanau": "additive", "luong": score or "general"}
        self.embeddings = TiedEmbeddings(vocabulary=vocabulary, size=embedding_size, tying=tying)
        # As in a Transformer: rows whose variance suits the output layer are too small for gates to tell apart.
        self.scale = embedding_size**0.5
        self.encoder = Encoder(
            cell=cell,
            num_layers=encoder_layers,
            input_size=embedding_size,
            hidden_size=hidden_size,
            bidirectional=bidirectional,
            residual=residual,
            dropout=dropout,
        )
        self.decoder = RecurrentDecoder(
            encoder=self.encoder,
            cell=cell,
            num_layers=decoder_layers,
            embedding_size=embedding_size,
            hidden_size=hidden_size,
            residual=residual,
            score=scores[attention],
            attention_layer=attention_layer,
            input_feeding=input_feeding,
            dropout=dropout,
        )

    def forward(self, batch: Batch, trace: Trace | None = None) -> Prediction:
        inputs = self.scale * self.embeddings.tgt(batch.tgt[:, :-1])
        x, weights, _ = self.decoder(inputs, self._read(batch.src, batch.src_lengths, batch.host_lengths[0]))
        if trace is not None and weights is not None:
            trace.setdefault("cross", []).append(weights.detach().unsqueeze(1))
        hidden, targets = keep_targets(x, batch)
        return Prediction(
            hidden=hidden,
            weight=self.embeddings.output_weight,
            targets=targets,
            num_source=0,
        )

    def start(self, src: Tensor, src_lengths: Tensor) -> DecoderState:
        return self._read(src, src_lengths, src_lengths.numpy(force=True))

    def _read(self, src: Tensor, src_lengths: Tensor, host_lengths: NDArray[np.int64]) -> DecoderState:
        memory, finals = self.encoder(self.scale * self.embeddings.src(src), host_lengths)
        return self.decoder.start(memory, finals, padding_mask(src, src_lengths).squeeze(1))

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        hidden, _, state = self.decoder(self.scale * self.embeddings.tgt(tokens.unsqueeze(1)), state)
        return hidden.squeeze(1) @ self.embeddings.output_weight.T, state

    def compile(self, *args: Any, **kwargs: Any) -> None:
        self.decoder.compile(*args, **kwargs)

    def attention_maps(self, batch: Batch) -> list[AttentionMap]:
        trace: Trace = {}
        self(batch, trace)
        tgt = batch.tgt[:, :-1]
        return [
            AttentionMap(name, torch.stack(weights, 1), tgt, batch.src, "tgt", "src") for name, weights in trace.items()
        ]

    def flops(self, src_length: int, tgt_length: int) -> int:
        steps = tgt_length - 1
        return (
            self.encoder.flops(src_length)
            + self.decoder.flops(src_length, steps)
            + 2 * steps * self.embeddings.output_weight.numel()
        )

    @property
    def embedding_parameters(self) -> int:
        return self.embeddings.num_parameters


def check_attention(attention: str, score: str | None, attention_layer: str, input_feeding: bool) -> None:
    """No choice of attention may be without effect."""
    require_one_of(("none", "bahdanau", "luong"), "model", attention=attention)
    require_one_of(("top", "bottom"), "model", attention_layer=attention_layer)
    if attention == "luong":
        require_one_of(LUONG_SCORES, "model", score=score or "general")
    elif score is not None:
        raise UserError(
            f"model.score={score} belongs to model.attention=luong, and model.attention={attention} has no choice; "
            "set model.score=null."
        )
    if input_feeding and attention != "luong":
        raise UserError(
            f"model.input_feeding=true needs model.attention=luong, not {attention}; set model.input_feeding=false."
        )
    if attention_layer == "bottom" and attention != "bahdanau":
        raise UserError(
            f"model.attention_layer=bottom needs model.attention=bahdanau, not {attention}; "
            "set model.attention_layer=top."
        )
