"""LM4MT: one causal Transformer reads the source and writes the target (Wang et al. 2021).

=================================  ==============================================================
in the paper                       here
=================================  ==============================================================
the sequence of both sentences     ``LM4MT.lay_out``
L = lambda * L_AE + L_MT           ``TranslationLoss`` in training/loss.py
which token belongs to which term  ``JointSequence``
lambda_d, decayed in training      ``Decayed`` in training/schedules.py (``loss=decayed``)
causal self-attention              ``SequenceLayout.causal`` in layers/sequence_layout.py
the blocks                         ``CausalBlocks`` in layers/transformer.py
=================================  ==============================================================

Positions are numbered through the whole sequence: they do not restart at the target. Only the tags tell the languages
apart; no language embedding is added. The prefix model (``source_attention=bidirectional``) is compared with the causal
one by Gao et al. 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from triptych.contract.batch import Batch, Prediction
from triptych.contract.decoder_state import DecoderState
from triptych.contract.exported import CTranslate2Model
from triptych.contract.flat_config import flat_config
from triptych.contract.gpu_shares import GpuShares
from triptych.contract.model import AttentionMap, TranslationModel
from triptych.contract.vocabulary import BOS, EOS, PAD, Vocabulary
from triptych.errors import UserError, require_at_least, require_one_of
from triptych.kernels.packed_linear import packed_linear
from triptych.kernels.rows import gather_rows
from triptych.layers.embedding import TiedEmbeddings
from triptych.layers.kv_cache import KVCache
from triptych.layers.recording import record_attention
from triptych.layers.sequence_layout import SequenceLayout, indices_where, wide
from triptych.layers.transformer import CausalBlocks
from triptych.layers.transformer_config import TransformerConfig
from triptych.ranges import Layers


@dataclass(frozen=True, kw_only=True)
class LM4MTConfig(TransformerConfig):
    """The configuration of an LM4MT.

    Attributes:
        num_layers: number of blocks.
        language_tags: whether each side begins with the tag of its language.
        source_attention: ``causal``, or ``bidirectional`` (a prefix model).
        tying: as in ``TiedEmbeddings``. There is one embedding, so ``decoder`` and ``three_way`` are the same.
    """

    num_layers: Layers
    language_tags: bool
    source_attention: str
    tying: str

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(1, "model", num_layers=self.num_layers)
        require_one_of(("causal", "bidirectional"), "model", source_attention=self.source_attention)


class JointSequence(NamedTuple):
    """Source and target of each pair, concatenated: L positions with padding.

    Attributes:
        inputs: (B, L) ids.
        targets: (B, L) the id that follows each.
        predicts_source: (B, L), True where the target is a source token: a term of L_AE.
        predicts_target: (B, L), True where the target is a target token: a term of L_MT.
    """

    inputs: Tensor
    targets: Tensor
    predicts_source: Tensor
    predicts_target: Tensor


class LM4MT(TranslationModel):
    """A decoder-only model over ``<en> source <fr> target </s>``, or, without tags, ``source </s> <s> target </s>``.

    In a run of several directions each pair brings its own tags. With ``language_tags=false`` they stay where the batch
    has them: ``source <en> <fr> target </s>``.

    With causal source attention (the paper) it also predicts each source token from those before it, which the loss
    weighs as L_AE. With bidirectional source attention each source position would see the token that it predicts,
    so the model predicts the target alone.

    Args:
        config: in a YAML its fields stand flat, beside ``_target_``.
        vocabulary: must be joint.

    Raises:
        UserError: separate vocabularies, or a value that is not allowed.
    """

    sizes = (("num_layers",), ("d_ff",))

    @flat_config
    def __init__(self, config: LM4MTConfig, vocabulary: Vocabulary) -> None:
        super().__init__()
        if not vocabulary.joint:
            raise UserError("LM4MT reads both sides with one vocabulary; set tokenizer.joint=true.")
        self.causal = config.source_attention == "causal"
        self.tags = (vocabulary.src_tag, vocabulary.tgt_tag) if config.language_tags else None
        self.embeddings = TiedEmbeddings(vocabulary=vocabulary, size=config.d_model, tying=config.tying, one_input=True)
        self.decoder = CausalBlocks(config, num_layers=config.num_layers, attention="sequence")

    def forward(self, batch: Batch) -> Prediction:
        host_lengths = batch.host_lengths.sum(0) - 1
        self.decoder.check_length(int(host_lengths.max()))
        sequence = self.lay_out(batch)
        lengths = batch.src_lengths + batch.tgt_lengths - 1
        embedded, layout = self.embeddings.embed_target(sequence.inputs, lengths, host_lengths)
        x, layout = self.decoder.input(embedded, self._visibility(layout, batch.src_lengths))
        x = self.decoder.run(x, layout)
        # The first token of each side is given; every other is one term of the loss.
        num_source, num_target = (batch.host_lengths - 1).sum(1).tolist()
        rows = indices_where(layout.select_tokens(sequence.predicts_target), num_target)
        if self.causal:
            rows = torch.cat([indices_where(layout.select_tokens(sequence.predicts_source), num_source), rows])
        return Prediction(
            hidden=self.decoder.norm(gather_rows(x, rows)),
            weight=self.embeddings.output_weight,
            targets=layout.unpad(sequence.targets).index_select(0, rows),
            num_source=num_source if self.causal else 0,
        )

    def lay_out(self, batch: Batch) -> JointSequence:
        """Concatenate the source and the target of each pair.

        A source of two pieces and a target of three, with tags::

            position   0     1     2     3     4     5     6
            input      <en>  x1    x2    <fr>  y1    y2    y3
            target     x1    x2    <fr>  y1    y2    y3    </s>
                       L_AE  L_AE  -     L_MT  L_MT  L_MT  L_MT

        and without::

            input      x1    x2    </s>  <s>   y1    y2    y3
            target     x2    </s>  <s>   y1    y2    y3    </s>
                       L_AE  L_AE  -     L_MT  L_MT  L_MT  L_MT

        The target's tag, or ``<s>``, is given, so position 2 is not scored. A source of S tokens (``</s>`` counted) has
        S - 1 terms of L_AE, and a target of T tokens (``<s>`` and ``</s>`` counted) T - 1 of L_MT.
        """
        src, tgt = self._with_source_tag(batch.src, batch.src_lengths), self._with_target_tag(batch.tgt)
        src_lengths, lengths = batch.src_lengths[:, None], (batch.src_lengths + batch.tgt_lengths)[:, None]
        longest = int(batch.host_lengths.sum(0).max())
        position = torch.arange(wide(longest - 1) + 1, device=src.device).expand(len(batch), -1)
        from_src = src.gather(1, position.clamp(max=src.shape[1] - 1))
        from_tgt = tgt.gather(1, (position - src_lengths).clamp(0, tgt.shape[1] - 1))
        ids = torch.where(position < src_lengths, from_src, from_tgt).masked_fill(position >= lengths, PAD)
        predicted = position[:, 1:]  # the position that each input predicts
        return JointSequence(
            inputs=ids[:, :-1],
            targets=ids[:, 1:],
            predicts_source=predicted < src_lengths,
            predicts_target=(predicted > src_lengths) & (predicted < lengths),
        )

    def _with_source_tag(self, src: Tensor, src_lengths: Tensor) -> Tensor:
        """Return ``source </s>`` (B, S) as it is, or, with tags, ``<en> source``.

        A source that ends in a tag instead of ``</s>`` keeps that tag, moved to the front.
        """
        if self.tags is None:
            return src
        last = src.gather(1, src_lengths[:, None] - 1)
        return torch.cat([last.masked_fill(last == EOS, self.tags[0]), src[:, :-1]], dim=1)

    def _with_target_tag(self, tgt: Tensor) -> Tensor:
        """Replace the ``<s>`` before a target by the target's tag, with tags; a tag that is there is kept."""
        return tgt if self.tags is None else tgt.masked_fill(tgt == BOS, self.tags[1])

    def _visibility(self, layout: SequenceLayout, src_lengths: Tensor) -> SequenceLayout:
        """Let a position see those before it, and, in a prefix model, the whole source."""
        return layout.causal() if self.causal else replace(layout, mask=prefix_mask(layout.size[1], src_lengths))

    def start(self, src: Tensor, src_lengths: Tensor) -> DecoderState:
        self.decoder.check_length(src.shape[1])
        prefix = self._with_source_tag(src, src_lengths)
        embedded, layout = self.embeddings.embed_target(prefix, src_lengths, src_lengths.numpy(force=True))
        kv_caches = [KVCache() for _ in self.decoder]
        x, layout = self.decoder.input(embedded, layout.causal() if self.causal else layout.bidirectional())
        self.decoder.run(x, layout, kv_caches=kv_caches)  # fills the caches; its output predicts the source
        sentence = {"position": src_lengths}
        for i, kv_cache in enumerate(kv_caches):
            sentence |= kv_cache.tensors(i)
        return DecoderState(sentence, {"visible": layout.is_token})

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        hidden, state = self.decoder.step(self.embeddings.embed_next(self._with_target_tag(tokens)), state)
        return packed_linear(hidden, self.embeddings.output_weight), state

    def stacked_layers(self) -> list[nn.Module]:
        return self.decoder.stacked_layers()

    def attention_maps(self, batch: Batch) -> list[AttentionMap]:
        with torch.no_grad(), record_attention(self) as weights:
            self(batch)
        ids = self.lay_out(batch).inputs
        return [AttentionMap("sequence", torch.stack(weights["sequence"], 1), ids, ids, "joint", "joint")]

    def flops(self, src_length: int, tgt_length: int) -> int:
        return (
            self.decoder.count_flops(src_length + tgt_length - 1)
            + self.source_prediction_flops(src_length)
            + 2 * (tgt_length - 1) * self.embeddings.output_weight.numel()
        )

    def source_prediction_flops(self, src_length: int) -> int:
        return 2 * (src_length - 1) * self.embeddings.output_weight.numel() if self.causal else 0

    def check_lengths(self, src_length: int, tgt_length: int) -> None:
        self.decoder.check_length(src_length + tgt_length - 1)

    def ctranslate2(self) -> CTranslate2Model:
        from triptych.layers.ctranslate2 import decoder_only_spec  # its package is an extra

        if not self.causal:
            raise UserError(
                "CTranslate2 has no prefix model: model.source_attention=bidirectional cannot be exported to it, but "
                "causal can."
            )
        return CTranslate2Model(partial(decoder_only_spec, self.embeddings, self.decoder), self._prompt)

    def _prompt(self, src: Sequence[int]) -> list[int]:
        """Return what stands before the target of a source that ends in ``</s>``."""
        return [*src, BOS] if self.tags is None else [self.tags[0], *src[:-1], self.tags[1]]

    @property
    def gpu_shares(self) -> GpuShares:
        return GpuShares(training=0.229, search=0.024)

    @property
    def embedding_parameters(self) -> int:
        return self.embeddings.num_parameters + self.decoder.embedding_parameters


def prefix_mask(length: int, src_lengths: Tensor) -> Tensor:
    """Return (B, 1, L, L): every position sees the whole source, and itself and the positions before it."""
    position = torch.arange(length, device=src_lengths.device)
    causal = position[None, :] <= position[:, None]
    return (causal | (position < src_lengths[:, None, None]))[:, None]
