"""Recurrent encoder-decoder, without attention (Sutskever et al. 2014) or with that of Bahdanau or Luong.

=============================================  =====================================================
in the papers                                  here
=============================================  =====================================================
Bahdanau et al. 2015, equation 4, p(y_i)       ``bahdanau_step`` in layers/recurrent_decoder.py, then the
                                               softmax of hidden_i @ weight^T in the loss
equation 5, c_i; equation 6, alpha_ij          ``RNNAttention`` in layers/rnn_attention.py
e_ij = a(s_{i-1}, h_j), appendix A.1.2         ``Additive`` in layers/rnn_attention.py
section 3.2, the bidirectional encoder         ``RecurrentEncoder`` in layers/recurrent.py
Luong et al. 2015, equation 5, hidden_i        ``luong_step`` in layers/recurrent_decoder.py
equation 7, alpha                              ``RNNAttention`` in layers/rnn_attention.py
equation 8, the scores                         ``Dot``, ``General`` and ``Concat`` in layers/rnn_attention.py
section 3.3, input feeding                     ``luong_step``; without it, ``luong_at_once``
Sutskever et al. 2014, no attention            ``without_attention`` in layers/recurrent_decoder.py
=============================================  =====================================================

Where a paper's output layer differs (Bahdanau's maxout), hidden_i is tanh(W_o […]) all the same. It has as many
features as an embedding, so that any tying fits.
"""

from __future__ import annotations

from dataclasses import dataclass

from triptych.contract.batch import Batch
from triptych.contract.flat_config import flat_config
from triptych.contract.vocabulary import Vocabulary
from triptych.errors import UserError, require_at_least
from triptych.layers.embedding import TiedEmbeddings
from triptych.layers.recurrent import RecurrentConfig, RecurrentEncoder
from triptych.layers.recurrent_decoder import RecurrentDecoder
from triptych.models.encoder_decoder import Embedded, EncoderDecoder


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

    encoder_layers: int
    decoder_layers: int
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


class RNN(EncoderDecoder):
    """An encoder reads the source; a decoder starts from its final states and, with attention, looks back.

    Args:
        config: a YAML gives its fields as flat keys.
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
        encoder = RecurrentEncoder(config, num_layers=config.encoder_layers, bidirectional=config.bidirectional)
        decoder = RecurrentDecoder(
            config,
            num_layers=config.decoder_layers,
            attention=config.attention,
            score=config.score,
            attention_layer=config.attention_layer,
            input_feeding=config.input_feeding,
            encoder=encoder,
        )
        super().__init__(embeddings, encoder, decoder)

    def embed(self, batch: Batch) -> tuple[Embedded, Embedded]:
        # The target first: autograd sums the gradients of a shared matrix in an order that decides how they round.
        target = self._embed_target(batch)
        return self._embed_source(batch), target
