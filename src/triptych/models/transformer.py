"""The encoder-decoder Transformer (Vaswani et al. 2017).

==============================  ===========================================================
in the paper                    here
==============================  ===========================================================
equation 1, attention           ``dot_product_attention`` in layers/attention.py
section 3.2.2, multi-head       ``MultiHeadAttention`` in layers/attention.py
equation 2, feed-forward        ``FeedForward`` in layers/blocks.py
section 3.1, residuals, norms   ``Block`` in layers/blocks.py
section 3.1, stacks of layers   ``TransformerEncoder``, ``TransformerDecoder`` in layers/transformer.py
section 3.4, tied embeddings    ``TiedEmbeddings`` in layers/embedding.py
section 3.5, positions          ``sinusoid`` and ``Positions`` in layers/positions.py
equation 3, learning rate       ``Noam`` in training/schedules.py (``optimizer=noam``)
section 5.4, dropout            ``dropout`` and ``embedding_dropout`` of ``TransformerConfig``
section 5.4, label smoothing    ``label_smoothing`` of ``TranslationLoss`` in training/loss.py
table 3, base and big           ``model=transformer_base``, ``model=transformer_big``
table 3, rows A to E            ``TransformerConfig`` in layers/transformer_config.py; each row is an
                                option of conf/arm/table3
==============================  ===========================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from triptych.contract.exported import CTranslate2Model
from triptych.contract.flat_config import flat_config
from triptych.contract.vocabulary import Vocabulary
from triptych.errors import require_at_least
from triptych.layers.embedding import TiedEmbeddings, TransformerInput
from triptych.layers.transformer import TransformerDecoder, TransformerEncoder
from triptych.layers.transformer_config import TransformerConfig
from triptych.models.encoder_decoder import EncoderDecoder
from triptych.ranges import Layers

if TYPE_CHECKING:
    from transformers import MarianMTModel


@dataclass(frozen=True, kw_only=True)
class EncoderDecoderConfig(TransformerConfig):
    """The configuration of an encoder-decoder Transformer.

    Attributes:
        encoder_layers: number of the encoder's blocks (N; table 3, rows C).
        decoder_layers: number of the decoder's.
        tying: which vocabulary matrices are one, see ``TiedEmbeddings``.
    """

    encoder_layers: Layers
    decoder_layers: Layers
    tying: str

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(1, "model", encoder_layers=self.encoder_layers, decoder_layers=self.decoder_layers)


class Transformer(EncoderDecoder):
    """An encoder that reads the source, and a decoder that attends to it.

    Args:
        config: in a YAML its fields stand flat, beside ``_target_``.
        vocabulary: sizes of the vocabularies.

    Raises:
        UserError: sizes that do not fit together, or an unknown choice.
    """

    sizes = (("encoder_layers", "decoder_layers"), ("d_ff",))
    encoder: TransformerEncoder
    decoder: TransformerDecoder

    @flat_config
    def __init__(self, config: EncoderDecoderConfig, vocabulary: Vocabulary) -> None:
        embeddings = TiedEmbeddings(vocabulary=vocabulary, size=config.d_model, tying=config.tying)
        src_input, tgt_input = TransformerInput(config), TransformerInput(config)
        encoder = TransformerEncoder(config, num_layers=config.encoder_layers, input=src_input)
        decoder = TransformerDecoder(config, num_layers=config.decoder_layers, encoder=encoder, input=tgt_input)
        super().__init__(embeddings, encoder, decoder)

    def ctranslate2(self) -> CTranslate2Model:
        from triptych.layers.ctranslate2 import encoder_decoder_spec  # its package is an extra

        return CTranslate2Model(partial(encoder_decoder_spec, self.embeddings, self.encoder, self.decoder))

    def huggingface(self) -> MarianMTModel:
        from triptych.layers.marian import marian_model  # its package is an extra

        return marian_model(self.embeddings, self.encoder, self.decoder)
