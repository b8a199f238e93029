"""One block for every Transformer: self-attention, cross-attention if it has a memory, feed-forward."""

from __future__ import annotations

from torch import Tensor, nn

from triptych.kernels.dropout import Dropout
from triptych.kernels.packed_linear import Linear
from triptych.layers.attention import CrossAttention, ProjectedMemory, SelfAttention
from triptych.layers.encoder_decoder import Memory
from triptych.layers.initialization import init_linear
from triptych.layers.kv_cache import KVCache
from triptych.layers.sequence_layout import SequenceLayout
from triptych.layers.transformer_config import ACTIVATIONS, NORMS, FeedForwardConfig, TransformerConfig


class FeedForward(nn.Module):
    """FFN(x) = W_2 f(W_1 x + b_1) + b_2, where f is ReLU in the paper (Vaswani et al. 2017, equation 2).

    With SwiGLU, FFN(x) = W_2 (silu(W_1 x) * W_3 x) (Shazeer 2020, equation 6).
    """

    def __init__(self, config: FeedForwardConfig) -> None:
        super().__init__()
        self.gated = config.activation == "swiglu"
        self.activation = ACTIVATIONS[config.activation]
        # W_1, and W_3 below it if gated
        self.up = Linear(config.d_model, config.d_ff * (2 if self.gated else 1), bias=config.bias)
        self.dropout = Dropout(config.activation_dropout)
        self.down = Linear(config.d_ff, config.d_model, bias=config.bias)  # W_2
        init_linear(self.up, *[config.d_ff] * (2 if self.gated else 1))
        init_linear(self.down)

    def forward(self, x: Tensor) -> Tensor:
        """Transform (…, d_model) to (…, d_model)."""
        x = self.up(x)
        if self.gated:
            gate, x = x.chunk(2, dim=-1)
            x = self.activation(gate) * x
        else:
            x = self.activation(x)
        return self.down(self.dropout(x))

    def flops(self, tokens: int) -> int:
        return 2 * tokens * (self.up.weight.numel() + self.down.weight.numel())


class Block(nn.Module):
    """One layer of an encoder or a decoder (Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020, figure 1).

    Args:
        config: of the Transformer.
        attention: what the weights of self-attention are recorded as.
        memory_size: dimension of the memory that the block attends to; None for no cross-attention.
    """

    def __init__(self, config: TransformerConfig, *, attention: str, memory_size: int | None = None) -> None:
        super().__init__()
        norm = NORMS[config.norm]
        self.pre_norm = config.pre_norm
        self.self_attention = SelfAttention(config, name=attention)
        self.self_norm = norm(config.d_model)
        self.cross_attention = (
            None if memory_size is None else CrossAttention(config, name="cross", memory_size=memory_size)
        )
        self.cross_norm = nn.Identity() if memory_size is None else norm(config.d_model)
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = norm(config.d_model)
        self.dropout = Dropout(config.dropout)

    def forward(
        self,
        x: Tensor,
        layout: SequenceLayout,
        kv_cache: KVCache | None = None,
        memory: Memory | ProjectedMemory | None = None,
    ) -> Tensor:
        """Transform rows x (R, d_model) to rows (R, d_model).

        Args:
            layout: how the rows lie, and what self-attention may see.
            kv_cache: keys and values of earlier positions, to which those of x are added.
            memory: of an encoder, or what ``project_memory`` has made of it.
        """
        if isinstance(memory, Memory):
            memory = self.project_memory(memory)
        run = self._forward_pre_norm if self.pre_norm else self._forward_post_norm
        return run(x, layout, kv_cache, memory)

    def _forward_pre_norm(
        self, x: Tensor, layout: SequenceLayout, kv_cache: KVCache | None, memory: ProjectedMemory | None
    ) -> Tensor:
        x = x + self.dropout(self.self_attention(self.self_norm(x), layout, kv_cache))
        if self.cross_attention is not None:
            x = x + self.dropout(self.cross_attention(self.cross_norm(x), layout, memory))
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))

    def _forward_post_norm(
        self, x: Tensor, layout: SequenceLayout, kv_cache: KVCache | None, memory: ProjectedMemory | None
    ) -> Tensor:
        x = self.self_norm(x + self.dropout(self.self_attention(x, layout, kv_cache)))
        if self.cross_attention is not None:
            x = self.cross_norm(x + self.dropout(self.cross_attention(x, layout, memory)))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))

    def project_memory(self, memory: Memory) -> ProjectedMemory:
        """Project a memory to the keys and values of this block's attention."""
        assert self.cross_attention is not None
        return self.cross_attention.project(memory.packed(), memory.layout)

    def flops(self, queries: int, memory: int = 0) -> int:
        """Count those of a forward pass over ``queries`` positions, and as many keys, with a memory of ``memory``."""
        total = self.self_attention.flops(queries, queries) + self.feed_forward.flops(queries)
        return total + (self.cross_attention.flops(queries, memory) if self.cross_attention is not None else 0)
