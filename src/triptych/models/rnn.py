"""Recurrent encoder-decoder, without attention (Sutskever et al. 2014) or with Bahdanau's or Luong's attention.

==============================================  ====================================================
in the papers                                   here
==============================================  ====================================================
Bahdanau et al. 2015, ``model=rnn_bahdanau2015``
section 3.2, the annotations h_j                ``RecurrentEncoder`` in layers/recurrent.py
appendix A.2.2, s_0                             ``first_states`` in layers/recurrent_stack.py
e_ij = a(s_{i-1}, h_j), the alignment model     ``Additive`` in layers/rnn_attention.py
equation 6, alpha_ij; equation 5, c_i           ``RNNAttention`` in layers/rnn_attention.py
s_i = f(s_{i-1}, y_{i-1}, c_i)                  ``bahdanau_step`` in layers/recurrent_decoder.py
equation 4, g                                   ``RecurrentDecoder.readout`` in layers/recurrent_decoder.py, then
                                                the softmax: kernels/linear_cross_entropy.py in training,
                                                decoding/search.py in translation
Luong et al. 2015, ``model=rnn_luong2015``
section 3.1, the scores                         ``Dot``, ``General``, ``Concat`` in layers/rnn_attention.py
equation 7, alpha                               ``RNNAttention`` in layers/rnn_attention.py
equation 5, the attentional vector              ``luong_step`` in layers/recurrent_decoder.py
equation 6, the softmax                         as in equation 4 above
section 3.3, input feeding                      ``luong_step``; without it, ``luong_at_once``
Sutskever et al. 2014, ``model=rnn_none``       ``without_attention`` in layers/recurrent_decoder.py
Wu et al. 2016, ``model=rnn_gnmt``              ``attention_layer``, ``residual`` and ``bidirectional``
nmtpytorch, ``model=rnn_nmtpytorch``            ``OuterDropoutRNN``
==============================================  ====================================================

A configuration named for a paper, as ``conf/model/rnn_luong2015.yaml``, has its sizes.

==================================  ==================================
symbol in the papers                here
==================================  ==================================
Luong's h_t                         s_i, the decoder's state
Luong's h_s with a bar              h_j, the encoder's outputs (Bahdanau's annotations)
Luong's h_t with a tilde            hidden_i, the attentional vector
Luong's W_s, Bahdanau's W_o         ``Prediction.weight``, the vocabulary matrix
==================================  ==================================

Differences from the papers:

- Before the softmax stands hidden_i = tanh(W_c […] + b_c) in all three. Luong has no b_c, Sutskever no such layer, and
  Bahdanau a maxout over s_{i-1}, y_{i-1} and c_i. Here s_i takes the place of s_{i-1}, as in equation 4. hidden_i has
  the size of an embedding, so that the output projection can be the embedding matrix.
- s_0 is tanh(W h + b), where h is the last state of both directions. Bahdanau takes the backward direction's alone.
  Luong and Sutskever start from h itself. An LSTM's cell state starts from a tanh as well.
- A GRU's reset gate multiplies U s_{i-1} + b, as in cuDNN. In Bahdanau's appendix A.1.1 it multiplies s_{i-1}.
- ``model=rnn_none`` has the scale's sizes and a bidirectional encoder. Sutskever's is unidirectional and reads the
  source in reverse.
- Luong's ``dot`` needs states of equal sizes. Where the encoder's are larger, as those of both directions are, h_j is
  projected to the size of s_i first, and c_i sums the projections.
- Luong's local attention and location-based score (equation 8) are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from triptych.contract.batch import Batch, Prediction
from triptych.contract.flat_config import flat_config
from triptych.contract.vocabulary import Vocabulary
from triptych.errors import UserError, require_at_least, require_probability
from triptych.kernels.dropout import Dropout
from triptych.layers.embedding import TiedEmbeddings
from triptych.layers.encoder_decoder import Memory
from triptych.layers.recurrent import RecurrentConfig, RecurrentEncoder
from triptych.layers.recurrent_decoder import RecurrentDecoder
from triptych.layers.sequence_layout import SequenceLayout
from triptych.models.encoder_decoder import Embedded, EncoderDecoder
from triptych.ranges import Layers, Probability


@dataclass(frozen=True, kw_only=True)
class RNNConfig(RecurrentConfig):
    """The configuration of a recurrent encoder-decoder.

    Attributes:
        encoder_layers: number of the encoder's layers.
        decoder_layers: number of the decoder's.
        bidirectional: see ``RecurrentEncoder``.
        attention, score, attention_layer, input_feeding: see ``RecurrentDecoder``.
        tying: which vocabulary matrices are one, see ``TiedEmbeddings``.
    """

    encoder_layers: Layers
    decoder_layers: Layers
    bidirectional: str
    attention: str
    score: str | None
    attention_layer: str
    input_feeding: bool
    tying: str

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(1, "model", encoder_layers=self.encoder_layers, decoder_layers=self.decoder_layers)
        if self.residual and max(self.encoder_layers, self.decoder_layers) < 3:
            raise UserError(
                "model.residual=true starts at the third layer; set model.encoder_layers or model.decoder_layers to 3 "
                "or more, or model.residual=false."
            )


def _with_depth(config: RNNConfig, num_layers: int) -> RNNConfig:
    """Return the configuration of an encoder or decoder, whose residual connections start at its third layer."""
    return replace(config, residual=config.residual and num_layers >= 3)


class RNN(EncoderDecoder):
    """An encoder reads the source; a decoder starts from its final states and may attend to the source.

    Args:
        config: in a YAML its fields stand flat, beside ``_target_``.
        vocabulary: sizes of the vocabularies.

    Raises:
        UserError: a value that is not allowed, or one that the others leave without effect.
    """

    sizes = (("hidden_size",),)
    encoder: RecurrentEncoder
    decoder: RecurrentDecoder

    @flat_config
    def __init__(self, config: RNNConfig, vocabulary: Vocabulary) -> None:
        embeddings = TiedEmbeddings(vocabulary=vocabulary, size=config.embedding_size, tying=config.tying)
        encoder = RecurrentEncoder(
            _with_depth(config, config.encoder_layers),
            num_layers=config.encoder_layers,
            bidirectional=config.bidirectional,
        )
        decoder = RecurrentDecoder(
            _with_depth(config, config.decoder_layers),
            num_layers=config.decoder_layers,
            attention=config.attention,
            score=config.score,
            attention_layer=config.attention_layer,
            input_feeding=config.input_feeding,
            encoder=encoder,
        )
        super().__init__(embeddings, encoder, decoder)

    def embed(self, batch: Batch) -> tuple[Embedded, Embedded]:
        # The target first: the order decides how the gradients of tied embeddings are summed, and so how the sum
        # rounds. In this order a run gives the same bits in every version.
        target = self._embed_target(batch)
        return self._embed_source(batch), target


class OuterDropoutRNN(RNN):
    """An RNN with dropout around its encoder and its decoder, as nmtpytorch has it, besides ``dropout`` inside them.

    Args:
        config: as of an ``RNN``.
        vocabulary: sizes of the vocabularies.
        source_dropout: on embedded source tokens.
        memory_dropout: on the encoder's outputs, which attention sees.
        output_dropout: on hidden vectors, before the output projection.

    Raises:
        UserError: a value that is not allowed.
    """

    @flat_config
    def __init__(
        self,
        config: RNNConfig,
        vocabulary: Vocabulary,
        *,
        source_dropout: Probability,
        memory_dropout: Probability,
        output_dropout: Probability,
    ) -> None:
        super().__init__(config, vocabulary)
        require_probability("model", source_dropout=source_dropout, memory_dropout=memory_dropout)
        require_probability("model", output_dropout=output_dropout)
        self.source_dropout, self.memory_dropout = Dropout(source_dropout), Dropout(memory_dropout)
        self.output_dropout = Dropout(output_dropout)

    def encode(self, embedded: Tensor, layout: SequenceLayout) -> Memory:
        memory = super().encode(self.source_dropout(embedded), layout)
        return replace(memory, vectors=self.memory_dropout(memory.vectors))

    def forward(self, batch: Batch) -> Prediction:
        prediction = super().forward(batch)
        return replace(prediction, hidden=self.output_dropout(prediction.hidden))
