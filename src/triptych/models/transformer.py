"""The encoder-decoder Transformer (Vaswani et al. 2017)."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from triptych.contract.batch import Batch, Prediction
from triptych.contract.decoder_state import DecoderState
from triptych.contract.model import AttentionMap, Trace, TranslationModel
from triptych.contract.vocabulary import Vocabulary
from triptych.errors import require_at_least
from triptych.layers.embedding import TiedEmbeddings, TransformerInput
from triptych.layers.sequence_layout import Packing, padding_mask, widen
from triptych.layers.transformer import Sizes, Stack


class Transformer(TranslationModel):
    """An encoder that reads the source, a decoder that attends to it.

    Args:
        vocabulary: sizes of the vocabularies.
        encoder_layers, decoder_layers: blocks of each stack.
        tying: which vocabulary matrices are one, see ``TiedEmbeddings``.
        max_length: rows of a table of learned positions.
        d_model to embedding_dropout: what the blocks share, see ``Sizes``.

    Raises:
        UserError: sizes that do not fit together, or a choice that there is not.
    """

    sizes = (("encoder_layers", "decoder_layers"), ("d_ff",))

    def __init__(
        self,
        *,
        vocabulary: Vocabulary,
        encoder_layers: int,
        decoder_layers: int,
        d_model: int,
        num_heads: int,
        d_k: int | None,
        d_v: int | None,
        d_ff: int,
        activation: str,
        norm: str,
        norm_position: str,
        positions: str,
        max_length: int,
        bias: bool,
        dropout: float,
        attention_dropout: float,
        activation_dropout: float,
        embedding_dropout: float,
        tying: str,
    ) -> None:
        super().__init__()
        sizes = Sizes(
            d_model=d_model,
            num_heads=num_heads,
            d_k=d_k,
            d_v=d_v,
            d_ff=d_ff,
            activation=activation,
            norm=norm,
            norm_position=norm_position,
            positions=positions,
            bias=bias,
            dropout=dropout,
            attention_dropout=attention_dropout,
            activation_dropout=activation_dropout,
            embedding_dropout=embedding_dropout,
        )
        require_at_least(1, "model", encoder_layers=encoder_layers, decoder_layers=decoder_layers)
        self.embeddings = TiedEmbeddings(vocabulary=vocabulary, size=d_model, tying=tying)
        make_input = partial(
            TransformerInput,
            d_model=d_model,
            positions=positions,
            max_length=max_length,
            dropout=embedding_dropout,
        )
        self.src_input, self.tgt_input = make_input(), make_input()
        self.encoder = Stack(sizes, num_layers=encoder_layers, cross=False)
        self.decoder = Stack(sizes, num_layers=decoder_layers, cross=True)

    def forward(self, batch: Batch, trace: Trace | None = None) -> Prediction:
        self.check_lengths(batch.src.shape[1], batch.tgt.shape[1])
        ids, tgt, targets = (widen(side) for side in (batch.src, batch.tgt[:, :-1], batch.tgt[:, 1:]))
        mask = padding_mask(ids, batch.src_lengths)
        src = Packing.of(batch.src_lengths, batch.host_lengths[0], ids.shape[1])
        memory = self.encode(ids, src, mask, trace)
        packing = Packing.of(batch.tgt_lengths - 1, batch.host_lengths[1] - 1, tgt.shape[1])
        positions = torch.arange(tgt.shape[1], device=tgt.device).unsqueeze(0)
        x = packing.pack(self.tgt_input(self.embeddings.tgt, tgt, positions))
        rotations = self.decoder.rotations(positions)
        traces = (None, None) if trace is None else (trace.setdefault("decoder", []), trace.setdefault("cross", []))
        for block in self.decoder:
            read = block.read(memory, src)
            x = block(x, packing, causal=True, by=rotations, memory=read, memory_mask=mask, traces=traces)
        return Prediction(
            hidden=self.decoder.norm(packing.tokens(x)),
            weight=self.embeddings.output_weight,
            targets=packing.tokens(packing.pack(targets)),
            num_source=0,
        )

    def encode(self, src: Tensor, packing: Packing, mask: Tensor, trace: Trace | None = None) -> Tensor:
        """Sources (B, S), visible where mask (B, 1, 1, S) is True, to the packed memory (N, d_model)."""
        positions = torch.arange(src.shape[1], device=src.device).unsqueeze(0)
        x = packing.pack(self.src_input(self.embeddings.src, src, positions))
        rotations = self.encoder.rotations(positions)
        traces = (None if trace is None else trace.setdefault("encoder", []), None)
        for block in self.encoder:
            x = block(x, packing, mask=mask, by=rotations, traces=traces)
        return self.encoder.norm(x)

    def start(self, src: Tensor, src_lengths: Tensor) -> DecoderState:
        self.src_input.positions.check_length(src.shape[1])
        mask = padding_mask(src, src_lengths)
        packing = Packing.of(src_lengths, src_lengths.numpy(force=True), src.shape[1])
        memory = self.encode(src, packing, mask)
        sentence = {"memory_mask": mask, "position": torch.zeros_like(src_lengths)}
        for i, block in enumerate(self.decoder):
            sentence[f"memory_key.{i}"], sentence[f"memory_value.{i}"] = block.read(memory, packing)
        return DecoderState(sentence, {"visible": src.new_empty(len(src), 0, dtype=torch.bool)})

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        position = state.sentence["position"].unsqueeze(1)
        self.tgt_input.positions.check(position)
        x = self.tgt_input(self.embeddings.tgt, tokens.view(len(position), -1), position)
        x, state = self.decoder.step(x.flatten(0, 1), position, state)
        return self.decoder.norm(x) @ self.embeddings.output_weight.T, state

    def compile(self, *args: Any, **kwargs: Any) -> None:
        self.encoder.compile(*args, **kwargs)
        self.decoder.compile(*args, **kwargs)

    def attention_maps(self, batch: Batch) -> list[AttentionMap]:
        trace: Trace = {}
        self(batch, trace)
        axes = {"encoder": ("src", "src"), "decoder": ("tgt", "tgt"), "cross": ("tgt", "src")}
        ids = {"src": widen(batch.src), "tgt": widen(batch.tgt[:, :-1])}
        return [
            AttentionMap(name, torch.stack(trace[name], 1), ids[query], ids[key], query, key)
            for name, (query, key) in axes.items()
        ]

    def flops(self, src_length: int, tgt_length: int) -> int:
        steps = tgt_length - 1
        return (
            self.encoder.flops(src_length)
            + self.decoder.flops(steps, src_length)
            + 2 * steps * self.embeddings.output_weight.numel()
        )

    def check_lengths(self, src_length: int, tgt_length: int) -> None:
        self.src_input.positions.check_length(src_length)
        self.tgt_input.positions.check_length(tgt_length - 1)

    def ctranslate2(self) -> Any:
        from triptych.layers.ctranslate2 import specification  # its package is an extra

        return specification(self.embeddings, self.src_input, self.encoder, self.tgt_input, self.decoder)

    @property
    def embedding_parameters(self) -> int:
        return self.embeddings.num_parameters
