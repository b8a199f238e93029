"""An encoder of one architecture with a decoder of another (Chen et al. 2018; Domhan 2018)."""

from __future__ import annotations

from collections.abc import Callable

from triptych.contract.vocabulary import Vocabulary
from triptych.errors import UserError
from triptych.layers.embedding import TiedEmbeddings
from triptych.layers.encoder_decoder import Decoder, Encoder
from triptych.models.encoder_decoder import EncoderDecoder


class Hybrid(EncoderDecoder):
    """Any encoder with any decoder: ``model=hybrid model/encoder=rnn model/decoder=transformer``.

    Args:
        vocabulary: sizes of the vocabularies.
        encoder: an option of conf/model/encoder.
        decoder: an option of conf/model/decoder, a constructor that is called with ``encoder=…``.
        tying: which vocabulary matrices are one, see ``TiedEmbeddings``.

    Raises:
        UserError: encoder and decoder have embeddings of different sizes.
    """

    def __init__(
        self, *, vocabulary: Vocabulary, encoder: Encoder, decoder: Callable[..., Decoder], tying: str
    ) -> None:
        writer = decoder(encoder=encoder)
        if writer.embedding_size != encoder.embedding_size:
            raise UserError(
                f"the parts of model=hybrid embed a token with {encoder.embedding_size} and {writer.embedding_size} "
                "features; give model.encoder and model.decoder one embedding size (d_model or embedding_size)."
            )
        embeddings = TiedEmbeddings(vocabulary=vocabulary, size=encoder.embedding_size, tying=tying)
        super().__init__(embeddings, encoder, writer)
