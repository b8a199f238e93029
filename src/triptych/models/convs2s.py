"""ConvS2S, the convolutional encoder-decoder (Gehring et al. 2017).

=========================================  =========================================================
in the paper                               here
=========================================  =========================================================
section 3.1, e and g, with positions       ``PositionedEmbedding`` in layers/convolution.py
section 3.2, convolution, v([A B])         ``GatedConvolution`` in layers/convolution.py
section 3.2, z^l, and maps between f, d    ``ConvolutionalEncoder`` in layers/convolution.py
section 3.2, h^l, causal by padding        ``DecoderLayer`` in layers/convolution_decoder.py
section 3.2, p(y_{i+1})                    ``ConvolutionalDecoder`` in layers/convolution_decoder.py, then the
                                           softmax in kernels/linear_cross_entropy.py
equation 1, d_i^l; then a_ij^l             ``StepAttention`` in layers/convolution_decoder.py
equation 2, c_i^l                          ``StepAttention`` in layers/convolution_decoder.py
section 3.4, sums times sqrt(0.5)          ``add`` in layers/convolution.py
section 3.4, m sqrt(1/m)                   ``AttendedSource`` in layers/convolution_decoder.py
section 3.4, gradients of the encoder      ``scale_gradient`` in layers/convolution_decoder.py
section 3.5, initialisation                ``linear`` and ``EMBEDDING_STD`` in layers/convolution.py
section 4.2, dropout                       ``dropout`` of ``ConvolutionConfig`` in layers/convolution.py
=========================================  =========================================================

Unlike the paper's, weights are not normalised (Salimans and Kingma 2016), all layers of a model have one width, and m
is the length of each source, whatever stands beside it in a batch.
"""

from __future__ import annotations

from dataclasses import dataclass

from triptych.contract.flat_config import flat_config
from triptych.contract.vocabulary import Vocabulary
from triptych.errors import require_at_least
from triptych.layers.convolution import ConvolutionalEncoder, ConvolutionConfig
from triptych.layers.convolution_decoder import ConvolutionalDecoder
from triptych.layers.embedding import TiedEmbeddings
from triptych.models.encoder_decoder import EncoderDecoder
from triptych.ranges import Layers


@dataclass(frozen=True, kw_only=True)
class ConvS2SConfig(ConvolutionConfig):
    """The configuration of a convolutional encoder-decoder.

    Attributes:
        encoder_layers: number of the encoder's convolutions.
        decoder_layers: number of the decoder's, each with its attention.
        tying: which vocabulary matrices are one, see ``TiedEmbeddings``.
    """

    encoder_layers: Layers
    decoder_layers: Layers
    tying: str

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(1, "model", encoder_layers=self.encoder_layers, decoder_layers=self.decoder_layers)


class ConvS2S(EncoderDecoder):
    """Convolutions read the source; convolutions write the target and attend to the source in every layer.

    Args:
        config: a YAML gives its fields as flat keys.
        vocabulary: sizes of the vocabularies.

    Raises:
        UserError: a value that is not allowed.
    """

    sizes = (("encoder_layers", "decoder_layers"), ("hidden_size",))
    encoder: ConvolutionalEncoder
    decoder: ConvolutionalDecoder

    @flat_config
    def __init__(self, config: ConvS2SConfig, vocabulary: Vocabulary) -> None:
        embeddings = TiedEmbeddings(vocabulary=vocabulary, size=config.embedding_size, tying=config.tying)
        encoder = ConvolutionalEncoder(config, num_layers=config.encoder_layers)
        decoder = ConvolutionalDecoder(config, num_layers=config.decoder_layers, encoder=encoder)
        super().__init__(embeddings, encoder, decoder)
