"""Encoder and decoder that are stacks of recurrent blocks (Domhan 2018).

The decoder's recurrent layers start from zeros: as in a Transformer, nothing leads from the source to the target but
attention.

B sentences of S or T positions, D the dimension of a token's vector (d_model), H units, L layers; A sentences with W
hypotheses each in decoding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from torch import Tensor, nn

from triptych.contract.decoder_state import DecoderState
from triptych.contract.flat_config import flat_config
from triptych.errors import require_at_least, require_one_of
from triptych.kernels.lstm import sentences
from triptych.layers.attention import ProjectedMemory
from triptych.layers.encoder_decoder import Encoder, Memory, StepwiseDecoder
from triptych.layers.recurrent_blocks import RecurrentBlockConfig, RecurrentDecoderBlock, RecurrentEncoderBlock
from triptych.layers.recurrent_stack import as_tensor, layer_states
from triptych.layers.sequence_layout import SequenceLayout
from triptych.layers.transformer_config import NORMS, AttentionConfig
from triptych.ranges import Layers, Probability, Size


class RecurrentBlockEncoder(Encoder):
    """A stack of L bidirectional blocks, and the final norm of a pre-norm stack.

    Args:
        config: what the blocks share.
        num_layers: L.

    Raises:
        UserError: a value that is not allowed.
    """

    sizes = (("hidden_size",),)

    @flat_config
    def __init__(self, config: RecurrentBlockConfig, *, num_layers: Layers) -> None:
        super().__init__()
        require_at_least(1, "model", num_layers=num_layers)
        self.embedding_size = self.memory_size = config.d_model
        self.blocks = nn.ModuleList(RecurrentEncoderBlock(config) for _ in range(num_layers))
        self.norm = NORMS[config.norm](config.d_model)

    def __iter__(self) -> Iterator[RecurrentEncoderBlock]:
        return iter(cast(list[RecurrentEncoderBlock], self.blocks))

    def forward(self, embedded: Tensor, layout: SequenceLayout) -> Memory:
        """Encode embedded sources (B, S, D). The memory is zero on padding."""
        assert layout.host_lengths is not None
        batch = sentences(embedded, layout.host_lengths, [block.recurrent.rnn for block in self])
        x = batch.inputs
        for block in self:
            x = block(x, batch)
        return Memory(batch.pad(self.norm(x)), layout)

    def flops(self, src_length: int) -> int:
        return sum(block.flops(src_length) for block in self)


class RecurrentBlockDecoder(StepwiseDecoder):
    """A stack of L blocks, and the final norm of a pre-norm stack.

    Args:
        config: what the blocks share.
        num_layers: L.
        attention_layers: which layers attend to the memory: ``top``, the last alone, or ``all``.
        num_heads: h, heads of each attention.
        attention_dropout: on the weights of attention.
        encoder: that it decodes from.

    Raises:
        UserError: a value that is not allowed.
    """

    sizes = (("hidden_size",),)

    @flat_config
    def __init__(
        self,
        config: RecurrentBlockConfig,
        *,
        num_layers: Layers,
        attention_layers: str,
        num_heads: Size,
        attention_dropout: Probability,
        encoder: Encoder,
    ) -> None:
        super().__init__()
        require_at_least(1, "model", num_layers=num_layers)
        require_one_of(("top", "all"), "model", attention_layers=attention_layers)
        attention = AttentionConfig(
            d_model=config.d_model,
            num_heads=num_heads,
            d_k=None,
            d_v=None,
            bias=config.bias,
            attention_dropout=attention_dropout,
        )
        self.embedding_size, self.hidden_size = config.d_model, config.hidden_size
        attending = range(num_layers) if attention_layers == "all" else [num_layers - 1]
        self.blocks = nn.ModuleList(
            RecurrentDecoderBlock(
                config, attention=attention if i in attending else None, memory_size=encoder.memory_size
            )
            for i in range(num_layers)
        )
        self.norm = NORMS[config.norm](config.d_model)

    def __iter__(self) -> Iterator[RecurrentDecoderBlock]:
        return iter(cast(list[RecurrentDecoderBlock], self.blocks))

    def start(self, memory: Memory) -> DecoderState:
        """Return the state before the first step.

        Per hypothesis: ``recurrent`` (B, L, 1 or 2, H), zeros. Per sentence: the memory of each layer that attends, as
        ``ProjectedMemory.tensors`` names it.
        """
        vectors, sentence = memory.packed(), dict[str, Tensor]()
        for i, block in enumerate(self):
            if block.cross_attention is not None:
                sentence |= block.cross_attention.project(vectors, memory.layout).tensors(i)
        states = next(iter(self)).recurrent.num_states
        zeros = vectors.new_zeros(memory.layout.size[0], len(self.blocks), states, self.hidden_size)
        return DecoderState(sentence, {"recurrent": zeros})

    def run(self, x: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Run some steps, one or all, from embedded tokens (A * W, T, D): hidden vectors of that shape, and the new
        state."""
        new = []
        for i, (block, recurrent) in enumerate(zip(self, layer_states(state.hypothesis["recurrent"]), strict=True)):
            x, last = block(x, recurrent, ProjectedMemory.load(state, i))
            new.append(last)
        return self.norm(x), DecoderState(state.sentence, {"recurrent": as_tensor(new)})

    def flops(self, src_length: int, steps: int) -> int:
        return sum(block.flops(steps, src_length) for block in self)
