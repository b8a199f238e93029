"""A Transformer's block with a recurrent layer in the place of self-attention, and switches for what surrounds it.

Domhan 2018 goes from an RNN to the Transformer one concept at a time. Each concept is a switch here:

==============================================  ==========================================================
concept                                         switch
==============================================  ==========================================================
residual connections                            ``residual``
layer normalisation before each sub-layer       ``norm``
several heads                                   ``num_heads`` of ``RecurrentBlockDecoder``
attention in every layer                        ``attention_layers`` of ``RecurrentBlockDecoder``
a feed-forward layer in every layer             ``feed_forward``
==============================================  ==========================================================

B sentences of S or T positions, D the dimension of a token's vector (d_model), H units; A sentences with W hypotheses
each in decoding.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from triptych.errors import require_at_least, require_one_of, require_probability
from triptych.kernels.dropout import Dropout
from triptych.kernels.lstm import Sentences
from triptych.kernels.packed_linear import Linear
from triptych.layers.attention import CrossAttention, ProjectedMemory
from triptych.layers.blocks import FeedForward
from triptych.layers.encoder_decoder import RecurrentState
from triptych.layers.initialization import init_linear
from triptych.layers.recurrent import CELLS, RecurrentLayer
from triptych.layers.sequence_layout import SequenceLayout
from triptych.layers.transformer_config import NORMS, AttentionConfig, FeedForwardConfig
from triptych.ranges import Probability, Size


@dataclass(frozen=True, kw_only=True)
class RecurrentBlockConfig(FeedForwardConfig):
    """What all recurrent blocks of an encoder or a decoder share; the field names are the configuration's keys.

    Attributes:
        cell: ``lstm`` or ``gru``.
        hidden_size: H, of each direction.
        residual: whether a recurrent or feed-forward layer's input is added to its output. Attention's always is.
        norm: before each sub-layer and at the end of the stack: ``layer``, ``rms`` or ``none``.
        feed_forward: whether each block has a feed-forward layer.
        dropout: on the output of each sub-layer.

    Raises:
        UserError: a value that is not allowed.
    """

    cell: str
    hidden_size: Size
    residual: bool
    norm: str
    feed_forward: bool
    dropout: Probability

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of(CELLS, "model", cell=self.cell)
        require_one_of(NORMS, "model", norm=self.norm)
        require_at_least(1, "model", hidden_size=self.hidden_size)
        require_probability("model", dropout=self.dropout)


class RecurrentBlock(nn.Module):
    """What the blocks of an encoder and of a decoder have in common.

    The recurrent layer has H units, and W_o maps its outputs back to D features, as W^O does those of attention.

    Args:
        config: what the blocks share.
        bidirectional: whether the recurrent layer reads both ways.
    """

    def __init__(self, config: RecurrentBlockConfig, *, bidirectional: bool) -> None:
        super().__init__()
        norm, size = NORMS[config.norm], config.d_model
        self.residual, self.dropout = config.residual, Dropout(config.dropout)
        self.recurrent = RecurrentLayer(
            cell=config.cell, input_size=size, hidden_size=config.hidden_size, bidirectional=bidirectional
        )
        self.output = Linear(self.recurrent.output_size, size, bias=config.bias)  # W_o
        init_linear(self.output)
        self.recurrent_norm = norm(size)
        self.feed_forward = FeedForward(config) if config.feed_forward else None
        self.feed_forward_norm = norm(size) if config.feed_forward else nn.Identity()

    def add(self, x: Tensor, output: Tensor) -> Tensor:
        """Return what follows a sub-layer: x + dropout(output), or, without residual connections, dropout(output)."""
        output = self.dropout(output)
        return x + output if self.residual else output.to(x.dtype)  # recurrent layers run outside of autocast

    def feed(self, x: Tensor) -> Tensor:
        """Run the feed-forward layer, if there is one, over x (…, D)."""
        return x if self.feed_forward is None else self.add(x, self.feed_forward(self.feed_forward_norm(x)))

    def flops(self, length: int) -> int:
        """Count those of ``length`` positions of one sentence."""
        total = self.recurrent.flops(length) + 2 * length * self.output.weight.numel()
        return total + (0 if self.feed_forward is None else self.feed_forward.flops(length))


class RecurrentEncoderBlock(RecurrentBlock):
    """One layer of an encoder, with all switches on:

    x = x + dropout(W_o RNN(norm(x)))
    x = x + dropout(FFN(norm(x)))
    """

    def __init__(self, config: RecurrentBlockConfig) -> None:
        super().__init__(config, bidirectional=True)

    def forward(self, x: Tensor, batch: Sentences) -> Tensor:
        """Transform the tokens of a batch, x of the shape of ``batch.inputs``, to the same shape."""
        recurred, _ = batch.run(self.recurrent.rnn, self.recurrent_norm(x))
        x = self.add(x, self.output(recurred))
        return self.feed(x)


class RecurrentDecoderBlock(RecurrentBlock):
    """One layer of a decoder, with all switches on:

    x = x + dropout(W_o RNN(norm(x)))
    x = x + dropout(MultiHead(norm(x), memory, memory))
    x = x + dropout(FFN(norm(x)))

    The sum in the second line stays without residual connections: attention alone would lose the state that it starts
    from, and with it the target so far.

    Args:
        config: what the blocks share.
        attention: of the heads; None for a block that does not attend to the memory.
        memory_size: M, features of the memory.
    """

    def __init__(self, config: RecurrentBlockConfig, *, attention: AttentionConfig | None, memory_size: int) -> None:
        super().__init__(config, bidirectional=False)
        self.cross_attention: CrossAttention | None = None
        if attention is not None:
            self.cross_attention = CrossAttention(attention, name="cross", memory_size=memory_size)
            self.cross_norm = NORMS[config.norm](config.d_model)

    def forward(
        self, x: Tensor, state: RecurrentState, memory: ProjectedMemory | None
    ) -> tuple[Tensor, RecurrentState]:
        """Run some steps, one or all.

        Args:
            x: (A * W, T, D).
            state: of the recurrent layer before the first of these steps.
            memory: what ``CrossAttention.project`` makes of the encoder's memory; None if the block attends to none.

        Returns:
            (A * W, T, D), and the state after the last step.
        """
        recurred, state = self.recurrent(self.recurrent_norm(x), state)
        x = self.add(x, self.output(recurred))
        if memory is not None:
            x = x + self.dropout(self.attend(self.cross_norm(x), memory))
        return self.feed(x), state

    def attend(self, x: Tensor, memory: ProjectedMemory) -> Tensor:
        """Attend from x (A * W, T, D) to the memory of A sentences: (A * W, T, D)."""
        assert self.cross_attention is not None
        sentences = len(memory.key)
        layout = SequenceLayout((sentences, len(x) // sentences * x.shape[1]))  # (A, W * T): one query for each token
        return self.cross_attention(x.flatten(0, 1), layout, memory).view(x.shape)

    def flops(self, length: int, memory: int = 0) -> int:
        """Count those of ``length`` positions of one sentence, over a memory of ``memory`` positions."""
        attention = 0 if self.cross_attention is None else self.cross_attention.flops(length, memory)
        return super().flops(length) + attention
