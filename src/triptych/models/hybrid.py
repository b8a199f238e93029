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
        encoder: built from an option of conf/model/encoder.
        decoder: constructor from an option of conf/model/decoder; it is called with ``encoder=…``.
        tying: which vocabulary matrices are one, see ``TiedEmbeddings``.

    Attributes:
        sizes: those that encoder and decoder both have, so that ``match`` never changes the one without the other.

    Raises:
        UserError: encoder and decoder have embeddings of different sizes.
    """

    def __init__(
        self, *, vocabulary: Vocabulary, encoder: Encoder, decoder: Callable[..., Decoder], tying: str
    ) -> None:
        built_decoder = decoder(encoder=encoder)
        sizes = encoder.embedding_size, built_decoder.embedding_size
        if sizes[0] != sizes[1]:
            raise UserError(
                f"the parts of model=hybrid embed a token with {sizes[0]} and {sizes[1]} features; give model.encoder "
                "and model.decoder one embedding size (d_model or embedding_size)."
            )
        embeddings = TiedEmbeddings(vocabulary=vocabulary, size=encoder.embedding_size, tying=tying)
        super().__init__(embeddings, encoder, built_decoder)
        self.sizes = tuple(
            tuple(f"{part}.{name}" for part in ("encoder", "decoder") for name in group)
            for group in encoder.sizes
            if group in built_decoder.sizes
        )
