"""Token embeddings, and which of a model's three vocabulary matrices are one (Press and Wolf 2017)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from triptych.contract.vocabulary import Vocabulary
from triptych.errors import UserError, require_one_of
from triptych.kernels.dropout import Dropout
from triptych.layers.positions import Positions, rotations
from triptych.layers.sequence_layout import Rope, SequenceLayout
from triptych.layers.transformer_config import TransformerConfig

TYINGS = ("none", "decoder", "three_way")


class TiedEmbeddings(nn.Module):
    """The source embedding, the target embedding and the output projection.

    Tying: ``none``; ``decoder``, the target embedding is the output projection; ``three_way``, all are one matrix
    (Vaswani et al. 2017, section 3.4), which needs a joint vocabulary.

    Each is initialised with a variance of 1 / size, so that logits of unit-variance hidden vectors have unit variance.
    Embedded tokens are multiplied by sqrt(size) (section 3.4; here a recurrent model's as well). Without the factor,
    embeddings would be small beside a Transformer's positions, and would hardly move a recurrent layer's gates.

    Args:
        vocabulary: its sizes are the numbers of rows.
        size: E, dimension of a row.
        tying: as above.
        one_input: source and target tokens share one embedding whatever the tying, as in a decoder-only model.

    Raises:
        UserError: unknown tying, or three-way tying of separate vocabularies.
    """

    def __init__(self, *, vocabulary: Vocabulary, size: int, tying: str, one_input: bool = False) -> None:
        super().__init__()
        require_one_of(TYINGS, "model", tying=tying)
        if tying == "three_way" and not vocabulary.joint:
            raise UserError(
                "model.tying=three_way needs one vocabulary for both sides; set model.tying=decoder, or "
                "tokenizer.joint=true."
            )
        self.scale = size**0.5
        self.tgt = nn.Embedding(vocabulary.tgt_size, size)
        self.src = self.tgt if one_input or tying == "three_way" else nn.Embedding(vocabulary.src_size, size)
        self.output = self.tgt if tying != "none" else nn.Embedding(vocabulary.tgt_size, size)
        for embedding in dict.fromkeys([self.src, self.tgt, self.output]):
            nn.init.normal_(embedding.weight, std=size**-0.5)

    def embed_source(
        self, ids: Tensor, lengths: Tensor, host_lengths: NDArray[np.int64]
    ) -> tuple[Tensor, SequenceLayout]:
        """Embed source ids (B, S) of lengths (B,), which the CPU knows as well: tokens (B, S, E), and their layout."""
        return self.src(ids) * self.scale, SequenceLayout.from_lengths(lengths, host_lengths, ids.shape[1])

    def embed_target(
        self, ids: Tensor, lengths: Tensor, host_lengths: NDArray[np.int64]
    ) -> tuple[Tensor, SequenceLayout]:
        """Embed target ids (B, T) as ``embed_source`` does; with ``one_input``, ids of either side."""
        return self.embed_next(ids), SequenceLayout.from_lengths(lengths, host_lengths, ids.shape[1])

    def embed_next(self, ids: Tensor) -> Tensor:
        """Embed target ids (…), whole targets or the tokens of one decoding step: (…, E)."""
        return self.tgt(ids) * self.scale

    @property
    def output_weight(self) -> Tensor:
        """(V, E)."""
        return self.output.weight

    @property
    def num_parameters(self) -> int:
        """Number of parameters of the distinct matrices."""
        return sum(parameter.numel() for parameter in self.parameters())


class TransformerInput(nn.Module):
    """dropout(embedding + position), packed (Vaswani et al. 2017, sections 3.5 and 5.4)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.positions = Positions(kind=config.positions, d_model=config.d_model, max_length=config.max_length)
        self.rotary_size = config.key_size if config.positions == "rope" else None
        self.dropout = Dropout(config.embedding_dropout)

    def forward(self, embedded: Tensor, layout: SequenceLayout) -> tuple[Tensor, SequenceLayout]:
        """Add positions from 0 to embedded tokens (B, T, d_model): rows (R, d_model), and the layout with its rope."""
        positions = torch.arange(embedded.shape[1], device=embedded.device).unsqueeze(0)
        return layout.unpad(self.at(embedded, positions)), replace(layout, rope=self.rope(positions))

    def at(self, embedded: Tensor, positions: Tensor) -> Tensor:
        """Add positions (B or 1, T) to embedded tokens (B, T, d_model)."""
        return self.dropout(self.positions(embedded, positions))

    @property
    def num_parameters(self) -> int:
        """Number of parameters of the table of positions; most of its rows may never be used."""
        return sum(parameter.numel() for parameter in self.parameters())

    def rope(self, positions: Tensor) -> Rope | None:
        """Return the rotations of positions (B or 1, T), if this Transformer uses them."""
        return None if self.rotary_size is None else rotations(positions, self.rotary_size)
