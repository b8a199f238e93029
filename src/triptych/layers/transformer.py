"""The Transformer's encoder and decoder: stacks of identical layers (blocks) (Vaswani et al. 2017, section 3.1).

B sequences of T positions, packed in R rows; A sentences with W hypotheses each in decoding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor, nn

from triptych.contract.decoder_state import DecoderState
from triptych.contract.flat_config import flat_config
from triptych.contract.gpu_shares import GpuShares
from triptych.contract.stacked_layers import LayeredModule
from triptych.errors import require_at_least
from triptych.layers.attention import ProjectedMemory
from triptych.layers.blocks import Block
from triptych.layers.embedding import TransformerInput
from triptych.layers.encoder_decoder import Decoder, Encoder, Memory
from triptych.layers.kv_cache import KVCache, make_room, see_newest
from triptych.layers.sequence_layout import SequenceLayout
from triptych.layers.transformer_config import NORMS, TransformerConfig
from triptych.ranges import Layers


class Blocks(LayeredModule):
    """A stack of N identical layers, and the final norm of a pre-norm stack.

    Args:
        config: what the blocks share.
        num_layers: number of blocks.
        attention: what the weights of self-attention are recorded as.
        memory_size: dimension of the memory that the blocks attend to; None for no cross-attention.
        input: what adds positions; None for one of their own.
    """

    def __init__(
        self,
        config: TransformerConfig,
        *,
        num_layers: Layers,
        attention: str,
        memory_size: int | None = None,
        input: TransformerInput | None = None,
    ) -> None:
        super().__init__()
        require_at_least(1, "model", num_layers=num_layers)
        self.config = config
        self.embedding_size = config.d_model
        self.input = input or TransformerInput(config)
        self.blocks = nn.ModuleList(
            Block(config, attention=attention, memory_size=memory_size) for _ in range(num_layers)
        )
        self.norm = NORMS[config.norm](config.d_model) if config.pre_norm else nn.Identity()

    def __iter__(self) -> Iterator[Block]:
        return iter(cast(list[Block], self.blocks))

    def stacked_layers(self) -> list[nn.Module]:
        return [*self]

    def check_length(self, length: int) -> None:
        self.input.positions.check_length(length)

    @property
    def embedding_parameters(self) -> int:
        """Number of parameters of learned positions, which are no part of a model's size (Kaplan et al. 2020, 2.1)."""
        return self.input.num_parameters

    def count_flops(self, length: int, memory_length: int = 0) -> int:
        return sum(block.flops(length, memory_length) for block in self)


class TransformerEncoder(Blocks, Encoder):
    """Every token attends to all tokens of its sentence."""

    widens = True
    sizes = (("num_layers",), ("d_ff",))

    @flat_config
    def __init__(self, config: TransformerConfig, *, num_layers: Layers, input: TransformerInput | None = None) -> None:
        super().__init__(config, num_layers=num_layers, attention="encoder", input=input)
        self.memory_size = config.d_model

    def forward(self, embedded: Tensor, layout: SequenceLayout) -> Memory:
        x, layout = self.input(embedded, layout.bidirectional())
        for block in self:
            x = block(x, layout)
        return Memory(self.norm(x), layout)

    def flops(self, src_length: int) -> int:
        return self.count_flops(src_length)


class CausalBlocks(Blocks):
    """A decoder's stack. It runs over whole sequences with a given mask (causal, or that of a prefix model), or one
    position at a time."""

    def run(
        self,
        x: Tensor,
        layout: SequenceLayout,
        memory: Memory | None = None,
        kv_caches: Sequence[KVCache | None] | None = None,
    ) -> Tensor:
        """Run the blocks over rows x (R, d_model): rows before the final norm.

        Args:
            layout: how the rows lie, and what each may see.
            memory: of the encoder, if the blocks attend to one.
            kv_caches: of each block, to which keys and values are added.
        """
        memory = None if memory is None else replace(memory, vectors=memory.packed())
        for block, kv_cache in zip(self, kv_caches or [None] * len(self.blocks), strict=True):
            x = block(x, layout, kv_cache, memory)
        return x

    def step(self, embedded: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Run one decoding step. The W hypotheses of a sentence stand side by side as W positions of one sequence; a
        mask lets each see only its own past.

        Args:
            embedded: (A * W, d_model) the newest tokens.
            state: per sentence, ``position`` (A,), each block's ``key.i`` and ``value.i`` (A, H, L or more, …; none
                where L is 0) and, with a memory, its ``memory_key.i``, ``memory_value.i`` and ``memory_mask``; per
                hypothesis, ``visible`` (A * W, L). Keys are written in place: step from a state only once.

        Returns:
            Hidden vectors (A * W, d_model), and the new state.
        """
        position = state.sentence["position"].unsqueeze(1)
        self.input.positions.check(position)
        count, width = len(position), len(embedded) // len(position)
        kv_caches = [KVCache.load(state, i) for i in range(len(self.blocks))]
        visible = see_newest(make_room(kv_caches, state.hypothesis["visible"], width), width)
        layout = SequenceLayout((count, width), mask=visible.view(count, 1, width, -1), rope=self.input.rope(position))
        x = self.input.at(embedded.view(count, width, -1), position).flatten(0, 1)
        sentence = {**state.sentence, "position": position.squeeze(1) + 1}
        for i, (block, kv_cache) in enumerate(zip(self, kv_caches, strict=True)):
            x = block(x, layout, kv_cache, ProjectedMemory.load(state, i))
            sentence |= kv_cache.tensors(i)
        return self.norm(x), DecoderState(sentence, {"visible": visible})


class TransformerDecoder(CausalBlocks, Decoder):
    """Every token attends to itself, to those before it, and to the encoder's memory."""

    widens = True
    sizes = (("num_layers",), ("d_ff",))

    @flat_config
    def __init__(
        self,
        config: TransformerConfig,
        *,
        num_layers: Layers,
        encoder: Encoder,
        input: TransformerInput | None = None,
    ) -> None:
        size = encoder.memory_size
        super().__init__(config, num_layers=num_layers, attention="decoder", memory_size=size, input=input)

    def forward(self, embedded: Tensor, layout: SequenceLayout, memory: Memory) -> Tensor:
        x, layout = self.input(embedded, layout.causal())
        return self.norm(layout.without_filling(self.run(x, layout, memory)))

    def start(self, memory: Memory) -> DecoderState:
        mask, memory = memory.layout.is_token, replace(memory, vectors=memory.packed())
        sentence = {"position": mask.new_zeros(len(mask), dtype=torch.long)}
        for i, block in enumerate(self):
            sentence |= block.project_memory(memory).tensors(i)
        return DecoderState(sentence, {"visible": mask.new_empty(len(mask), 0)})

    def gpu_shares(self, encoder: Encoder) -> GpuShares | None:
        return GpuShares(training=0.112, search=0.020) if isinstance(encoder, TransformerEncoder) else None

    def flops(self, src_length: int, steps: int) -> int:
        return self.count_flops(steps, src_length)
