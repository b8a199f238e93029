"""LM4MT: one causal Transformer reads the source and writes the target (Wang et al. 2021)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from triptych.contract.batch import Batch, Prediction
from triptych.contract.decoder_state import DecoderState
from triptych.contract.model import AttentionMap, Trace, TranslationModel
from triptych.contract.vocabulary import BOS, EOS, PAD, Vocabulary
from triptych.errors import UserError, require_at_least, require_one_of
from triptych.layers.embedding import TiedEmbeddings, TransformerInput
from triptych.layers.kv_cache import Cache
from triptych.layers.sequence_layout import Packing, padding_mask, places, select, wide
from triptych.layers.transformer import Sizes, Stack

SOURCE_ATTENTIONS = ("causal", "bidirectional")


class LM4MT(TranslationModel):
    """A decoder-only model over ``<en> source <fr> target </s>``, or, without tags, ``source </s> <s> target </s>``.

    In a run of several directions the tags are those of the rows, and stay where they are if the model has none of its
    own: ``source <en> <fr> target </s>``.

    With causal source attention (the paper) it also predicts the source tokens, each from those before it, which the
    loss weighs as L_AE. With bidirectional source attention (a prefix model) a source token would see itself, so it
    predicts the target alone.

    Args:
        vocabulary: must be joint.
        num_layers: blocks of the one stack.
        language_tags: begin each side with its tag.
        source_attention: ``causal`` or ``bidirectional``.
        tying: as in ``TiedEmbeddings``; there is one embedding, so ``decoder`` and ``three_way`` are the same.
        max_length: rows of a table of learned positions, for source and target together.

    Raises:
        UserError: separate vocabularies, an unknown source attention, sizes that do not fit (see ``Sizes``).
    """

    sizes = (("num_layers",), ("d_ff",))

    def __init__(
        self,
        *,
        vocabulary: Vocabulary,
        num_layers: int,
        language_tags: bool,
        source_attention: str,
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
        if not vocabulary.joint:
            raise UserError("LM4MT reads both sides with one vocabulary; set tokenizer.joint=true.")
        require_one_of(SOURCE_ATTENTIONS, "model", source_attention=source_attention)
        require_at_least(1, "model", num_layers=num_layers)
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
        self.causal = source_attention == "causal"
        self.tags = (vocabulary.src_tag, vocabulary.tgt_tag) if language_tags else None
        self.embeddings = TiedEmbeddings(vocabulary=vocabulary, size=d_model, tying=tying, one_input=True)
        self.input = TransformerInput(
            d_model=d_model, positions=positions, max_length=max_length, dropout=embedding_dropout
        )
        self.stack = Stack(sizes, num_layers=num_layers, cross=False)

    def forward(self, batch: Batch, trace: Trace | None = None) -> Prediction:
        joint = self.sequence(batch)
        inputs, ends = joint[:, :-1], batch.src_lengths[:, None]
        packing = Packing.of(batch.src_lengths + batch.tgt_lengths - 1, batch.host_lengths.sum(0) - 1, inputs.shape[1])
        self.input.positions.check_length(int(batch.host_lengths.sum(0).max()) - 1)
        positions = torch.arange(inputs.shape[1], device=joint.device).unsqueeze(0)
        x = packing.pack(self.input(self.embeddings.tgt, inputs, positions))
        rotations = self.stack.rotations(positions)
        mask = None if self.causal else prefix_mask(inputs.shape[1], batch.src_lengths)
        traces = (None if trace is None else trace.setdefault("sequence", []), None)
        for block in self.stack:
            x = block(x, packing, mask=mask, causal=self.causal, by=rotations, traces=traces)
        # What a token predicts: a source token, the target's tag (which is given, not predicted), or a target token.
        predicts = packing.tokens(packing.pack(positions + 1 - ends)).sign()
        num_source, num_target = (batch.host_lengths - 1).sum(1).tolist()
        kept = places(predicts == 1, num_target)
        if self.causal:
            kept = torch.cat([places(predicts == -1, num_source), kept])
        return Prediction(
            hidden=self.stack.norm(select(x, kept)),
            weight=self.embeddings.output_weight,
            targets=packing.pack(joint[:, 1:]).index_select(0, kept),
            num_source=num_source if self.causal else 0,
        )

    def sequence(self, batch: Batch) -> Tensor:
        """Source and target of each pair end to end (B, L), padded to one more than ``wide`` gives."""
        src, tgt = self.prefix(batch.src, batch.src_lengths), self.suffix(batch.tgt)
        ends = batch.src_lengths[:, None]
        lengths = batch.src_lengths + batch.tgt_lengths
        inputs = wide(int(batch.host_lengths.sum(0).max()) - 1)
        place = torch.arange(inputs + 1, device=src.device).expand(len(batch), -1)
        from_src = src.gather(1, place.clamp(max=src.shape[1] - 1))
        from_tgt = tgt.gather(1, (place - ends).clamp(0, tgt.shape[1] - 1))
        joint = torch.where(place < ends, from_src, from_tgt)
        return joint.masked_fill(place >= lengths[:, None], PAD)

    def prefix(self, src: Tensor, src_lengths: Tensor) -> Tensor:
        """``source </s>`` (B, S) as it stands, or ``<en> source``, which is as long; of ``source <fr>``, that tag."""
        if self.tags is None:
            return src
        last = src.gather(1, src_lengths[:, None] - 1)
        return torch.cat([last.masked_fill(last == EOS, self.tags[0]), src[:, :-1]], dim=1)

    def suffix(self, tgt: Tensor) -> Tensor:
        """Target ids, the ``<s>`` before them replaced by the target's tag; a tag that is there stays."""
        return tgt if self.tags is None else tgt.masked_fill(tgt == BOS, self.tags[1])

    def start(self, src: Tensor, src_lengths: Tensor) -> DecoderState:
        self.input.positions.check_length(src.shape[1])
        positions = torch.arange(src.shape[1], device=src.device).unsqueeze(0)
        packing = Packing.of(src_lengths, src_lengths.numpy(force=True), src.shape[1])
        x = packing.pack(self.input(self.embeddings.tgt, self.prefix(src, src_lengths), positions))
        rotations = self.stack.rotations(positions)
        visible = padding_mask(src, src_lengths)
        sentence = {"position": src_lengths}
        mask = None if self.causal else visible
        for i, block in enumerate(self.stack):
            cache = Cache()
            x = block(x, packing, mask=mask, causal=self.causal, by=rotations, past=cache)
            sentence |= cache.tensors(i)
        return DecoderState(sentence, {"visible": visible[:, 0, 0]})

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        position = state.sentence["position"].unsqueeze(1)
        self.input.positions.check(position)
        x = self.input(self.embeddings.tgt, self.suffix(tokens.view(len(position), -1)), position)
        x, state = self.stack.step(x.flatten(0, 1), position, state)
        return self.stack.norm(x) @ self.embeddings.output_weight.T, state

    def compile(self, *args: Any, **kwargs: Any) -> None:
        self.stack.compile(*args, **kwargs)

    def attention_maps(self, batch: Batch) -> list[AttentionMap]:
        trace: Trace = {}
        self(batch, trace)
        inputs = self.sequence(batch)[:, :-1]
        return [AttentionMap("sequence", torch.stack(trace["sequence"], 1), inputs, inputs, "joint", "joint")]

    def flops(self, src_length: int, tgt_length: int) -> int:
        return (
            self.stack.flops(src_length + tgt_length - 1)
            + self.source_prediction_flops(src_length)
            + 2 * (tgt_length - 1) * self.embeddings.output_weight.numel()
        )

    def source_prediction_flops(self, src_length: int) -> int:
        return 2 * (src_length - 1) * self.embeddings.output_weight.numel() if self.causal else 0

    def check_lengths(self, src_length: int, tgt_length: int) -> None:
        self.input.positions.check_length(src_length + tgt_length - 1)

    @property
    def embedding_parameters(self) -> int:
        return self.embeddings.num_parameters


def prefix_mask(length: int, src_lengths: Tensor) -> Tensor:
    """(B, 1, L, L): every position sees the whole source and what stands before it, itself included."""
    place = torch.arange(length, device=src_lengths.device)
    causal = place[None, :] <= place[:, None]
    return (causal | (place < src_lengths[:, None, None]))[:, None]
