"""A model of any encoder and any decoder."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from triptych.contract.batch import Batch, Prediction
from triptych.contract.decoder_state import DecoderState
from triptych.contract.gpu_shares import GpuShares
from triptych.contract.model import AttentionMap, TranslationModel
from triptych.kernels.packed_linear import packed_linear
from triptych.layers.embedding import TiedEmbeddings
from triptych.layers.encoder_decoder import Decoder, Encoder, Memory
from triptych.layers.recording import record_attention
from triptych.layers.sequence_layout import SequenceLayout, pad_to, widen

Embedded = tuple[Tensor, SequenceLayout]
"""Embedded tokens (B, T, E), and how they lie."""

QUERY_AND_KEY = {"encoder": ("src", "src"), "decoder": ("tgt", "tgt"), "cross": ("tgt", "src")}
"""The side that gives the queries, and the side that gives the keys, of each kind of attention."""


class EncoderDecoder(TranslationModel):
    """The encoder turns the source into a memory; the decoder writes the target from it.

    Args:
        embeddings: both sides' embeddings, and the output projection.
        encoder: makes the memory of the source.
        decoder: writes the target.
    """

    def __init__(self, embeddings: TiedEmbeddings, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.embeddings = embeddings
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, batch: Batch) -> Prediction:
        self.check_lengths(batch.src.shape[1], batch.tgt.shape[1])
        (embedded_src, src_layout), (embedded_tgt, tgt_layout) = self.embed(batch)
        memory = self.encode(embedded_src, src_layout)
        return Prediction(
            hidden=self.decoder(embedded_tgt, tgt_layout, memory),
            weight=self.embeddings.output_weight,
            targets=tgt_layout.select_tokens(pad_to(batch.tgt[:, 1:], embedded_tgt.shape[1])),
            num_source=0,
        )

    def embed(self, batch: Batch) -> tuple[Embedded, Embedded]:
        """Embed both sides: sources (B, S, E), targets without their last token (B, T - 1, E), and their layouts.

        S and T - 1 are rounded up to a multiple of 8 for an encoder or decoder that ``widens``.
        """
        return self._embed_source(batch), self._embed_target(batch)

    def _embed_source(self, batch: Batch) -> Embedded:
        src = widen(batch.src) if self.encoder.widens else batch.src
        return self.embeddings.embed_source(src, batch.src_lengths, batch.host_lengths[0])

    def _embed_target(self, batch: Batch) -> Embedded:
        tgt = widen(batch.tgt[:, :-1]) if self.decoder.widens else batch.tgt[:, :-1]
        return self.embeddings.embed_target(tgt, batch.tgt_lengths - 1, batch.host_lengths[1] - 1)

    def encode(self, embedded: Tensor, layout: SequenceLayout) -> Memory:
        """Turn embedded sources (B, S, E) into their memory."""
        return self.encoder(embedded, layout)

    def start(self, src: Tensor, src_lengths: Tensor) -> DecoderState:
        self.encoder.check_length(src.shape[1])
        embedded, layout = self.embeddings.embed_source(src, src_lengths, src_lengths.numpy(force=True))
        return self.decoder.start(self.encode(embedded, layout))

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        hidden, state = self.decoder.step(self.embeddings.embed_next(tokens), state)
        return packed_linear(hidden, self.embeddings.output_weight), state

    def stacked_layers(self) -> list[nn.Module]:
        return [*self.encoder.stacked_layers(), *self.decoder.stacked_layers()]

    def compile(self, *args: Any, **kwargs: Any) -> None:
        self.encoder.compile(*args, **kwargs)
        self.decoder.compile(*args, **kwargs)

    def attention_maps(self, batch: Batch) -> list[AttentionMap]:
        with torch.no_grad(), record_attention(self) as weights:
            self(batch)
        ids, maps = {"src": batch.src, "tgt": batch.tgt[:, :-1]}, []
        for name, layers in weights.items():
            (query, key), stacked = QUERY_AND_KEY[name], torch.stack(layers, 1)
            queries, keys = stacked.shape[-2:]
            maps.append(AttentionMap(name, stacked, pad_to(ids[query], queries), pad_to(ids[key], keys), query, key))
        return maps

    def flops(self, src_length: int, tgt_length: int) -> int:
        steps = tgt_length - 1
        return (
            self.encoder.flops(src_length)
            + self.decoder.flops(src_length, steps)
            + 2 * steps * self.embeddings.output_weight.numel()
        )

    def check_lengths(self, src_length: int, tgt_length: int) -> None:
        self.encoder.check_length(src_length)
        self.decoder.check_length(tgt_length - 1)

    @property
    def gpu_shares(self) -> GpuShares | None:
        return self.decoder.gpu_shares(self.encoder)

    @property
    def embedding_parameters(self) -> int:
        of_parts = self.encoder.embedding_parameters + self.decoder.embedding_parameters
        return self.embeddings.num_parameters + of_parts
