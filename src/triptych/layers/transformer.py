"""One block for every Transformer: self-attention, cross-attention if it has a memory, feed-forward.

B sentences of T positions, and the N tokens of all of them, end to end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import torch.nn.functional as F
from torch import Tensor, nn

from triptych.contract.decoder_state import DecoderState
from triptych.errors import UserError, require_at_least, require_one_of, require_probability
from triptych.kernels.dropout import Dropout
from triptych.layers.attention import Attention
from triptych.layers.kv_cache import Cache, see_newest
from triptych.layers.positions import KINDS, Rotary, rotary
from triptych.layers.sequence_layout import Packing

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "swiglu": F.silu}
NORMS: dict[str, Callable[[int], nn.Module]] = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}

KeysValues = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Sizes:
    """What every block of a Transformer shares; the field names are the configuration's keys.

    ``d_k`` and ``d_v`` of None mean d_model / num_heads.

    Raises:
        UserError: a value that is not allowed, or sizes that do not fit together.
    """

    d_model: int
    num_heads: int
    d_k: int | None
    d_v: int | None
    d_ff: int
    activation: str
    norm: str
    norm_position: str
    positions: str
    bias: bool
    dropout: float
    attention_dropout: float
    activation_dropout: float
    embedding_dropout: float

    def __post_init__(self) -> None:
        require_one_of(ACTIVATIONS, "model", activation=self.activation)
        require_one_of(NORMS, "model", norm=self.norm)
        require_one_of(("pre", "post"), "model", norm_position=self.norm_position)
        require_one_of(KINDS, "model", positions=self.positions)
        require_at_least(1, "model", d_model=self.d_model, num_heads=self.num_heads, d_ff=self.d_ff)
        require_at_least(1, "model", d_k=self.d_k, d_v=self.d_v)
        require_probability("model", dropout=self.dropout, attention_dropout=self.attention_dropout)
        require_probability("model", activation_dropout=self.activation_dropout)
        require_probability("model", embedding_dropout=self.embedding_dropout)
        if (self.d_k is None or self.d_v is None) and self.d_model % self.num_heads:
            raise UserError(
                f"model.d_model={self.d_model} is not divisible by model.num_heads={self.num_heads}; "
                "choose heads that divide it, or set model.d_k and model.d_v."
            )
        if self.positions == "rope" and self.key_size % 2:
            raise UserError(f"model.positions=rope needs heads of even size, and these have {self.key_size}.")

    @property
    def key_size(self) -> int:
        return self.d_k or self.d_model // self.num_heads

    @property
    def value_size(self) -> int:
        return self.d_v or self.d_model // self.num_heads

    @property
    def pre_norm(self) -> bool:
        return self.norm_position == "pre"


class FeedForward(nn.Module):
    """W_2 f(W_1 x); with SwiGLU, W_2 (silu(W_1 x) * W_3 x) (Shazeer 2020, equation 6)."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.gated = sizes.activation == "swiglu"
        self.activation = ACTIVATIONS[sizes.activation]
        self.up = nn.Linear(sizes.d_model, sizes.d_ff * (2 if self.gated else 1), bias=sizes.bias)
        self.dropout = Dropout(sizes.activation_dropout)
        self.down = nn.Linear(sizes.d_ff, sizes.d_model, bias=sizes.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(…, d_model) to (…, d_model)."""
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
    """Pre-norm: x + f(norm(x)); post-norm: norm(x + f(x)) (Xiong et al. 2020, figure 1)."""

    def __init__(self, sizes: Sizes, *, cross: bool) -> None:
        super().__init__()
        self.pre_norm = sizes.pre_norm
        attention = partial(
            Attention,
            d_model=sizes.d_model,
            num_heads=sizes.num_heads,
            d_k=sizes.key_size,
            d_v=sizes.value_size,
            bias=sizes.bias,
            dropout=sizes.attention_dropout,
        )
        norm = NORMS[sizes.norm]
        self.self_attention = attention()
        self.self_norm = norm(sizes.d_model)
        self.cross_attention = attention() if cross else None
        self.cross_norm = norm(sizes.d_model) if cross else None
        self.feed_forward = FeedForward(sizes)
        self.feed_forward_norm = norm(sizes.d_model)
        self.dropout = Dropout(sizes.dropout)

    def forward(
        self,
        x: Tensor,
        packing: Packing,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        by: Rotary | None = None,
        past: Cache | None = None,
        memory: KeysValues | None = None,
        memory_mask: Tensor | None = None,
        traces: tuple[list[Tensor] | None, list[Tensor] | None] = (None, None),
    ) -> Tensor:
        """x (N, d_model) to (N, d_model).

        Args:
            packing: how x lies in (B, T).
            mask, causal: what self-attention may see, as in ``attend``.
            by: the rotations of these T positions.
            past: keys and values of earlier positions, if any, to which those of x are added.
            memory: the encoder's keys and values for this block.
            memory_mask: (B, 1, 1, S), True where the memory is no padding.
            traces: where self-attention and cross-attention put their weights.
        """
        y = self._before(x, self.self_norm)
        key, value = self.self_attention.keys_values(y, packing, by)
        seen = (key, value) if past is None else past.append(key, value)
        y = self.self_attention(y, packing, seen, mask=mask, causal=causal, by=by, trace=traces[0])
        x = self._after(x, y, self.self_norm)
        if self.cross_attention is not None and self.cross_norm is not None:
            assert memory is not None
            y = self._before(x, self.cross_norm)
            y = self.cross_attention(y, packing, memory, mask=memory_mask, trace=traces[1])
            x = self._after(x, y, self.cross_norm)
        y = self.feed_forward(self._before(x, self.feed_forward_norm))
        return self._after(x, y, self.feed_forward_norm)

    def read(self, memory: Tensor, packing: Packing) -> KeysValues:
        """The keys and values by which this block attends to a packed memory (N, d_model)."""
        assert self.cross_attention is not None
        return self.cross_attention.keys_values(memory, packing)

    def _before(self, x: Tensor, norm: nn.Module) -> Tensor:
        return norm(x) if self.pre_norm else x

    def _after(self, x: Tensor, y: Tensor, norm: nn.Module) -> Tensor:
        x = x + self.dropout(y)
        return x if self.pre_norm else norm(x)

    def flops(self, queries: int, memory: int = 0) -> int:
        """Of one forward pass over ``queries`` positions, and as many keys, with a memory of ``memory`` positions."""
        total = self.self_attention.flops(queries, queries) + self.feed_forward.flops(queries)
        return total + (self.cross_attention.flops(queries, memory) if self.cross_attention is not None else 0)


class Stack(nn.Module):
    """num_layers blocks, and the norm that closes a pre-norm stack."""

    def __init__(self, sizes: Sizes, *, num_layers: int, cross: bool) -> None:
        super().__init__()
        self.sizes = sizes
        self.rotary_size = sizes.key_size if sizes.positions == "rope" else None
        self.blocks = nn.ModuleList(Block(sizes, cross=cross) for _ in range(num_layers))
        self.norm = NORMS[sizes.norm](sizes.d_model) if sizes.pre_norm else nn.Identity()
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def __iter__(self) -> Iterator[Block]:
        return iter(cast(list[Block], self.blocks))

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Its blocks, which are alike: what is compiled for one serves all."""
        for block in self:
            block.compile(*args, **kwargs)

    def rotations(self, positions: Tensor) -> Rotary | None:
        """The rotations of positions (B or 1, T), where this stack uses them."""
        return None if self.rotary_size is None else rotary(positions, self.rotary_size)

    def step(self, x: Tensor, position: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """One step of decoding: the W hypotheses of a sentence are W positions of one sequence, each of which sees its
        own past alone.

        Args:
            x: (A * W, d_model) the newest tokens.
            position: (A, 1) where they stand.
            state: a row a sentence, ``position`` (A,), ``key.i`` and ``value.i`` (A, H, L or more, …) of each block
                (none where L is 0) and, where there is a memory, ``memory_key.i``, ``memory_value.i`` and
                ``memory_mask``; a row a hypothesis, ``visible`` (A * W, L). Keys are written in place: a state is
                stepped from once.

        Returns:
            (A * W, d_model), and the new state.
        """
        sentence = {**state.sentence, "position": position.squeeze(1) + 1}
        taken = state.hypothesis["visible"].shape[1]
        packing = Packing((len(position), len(x) // len(position)))
        visible = see_newest(state.hypothesis["visible"], packing.size[1])
        mask = visible.view(len(position), 1, packing.size[1], -1)
        by = self.rotations(position)
        for i, block in enumerate(self):
            cache = Cache(sentence.get(f"key.{i}"), sentence.get(f"value.{i}"), taken)
            memory = (sentence[f"memory_key.{i}"], sentence[f"memory_value.{i}"]) if block.cross_attention else None
            memory_mask = sentence.get("memory_mask")
            x = block(x, packing, mask=mask, by=by, past=cache, memory=memory, memory_mask=memory_mask)
            sentence |= cache.tensors(i)
        return x, DecoderState(sentence, {"visible": visible})

    def flops(self, queries: int, memory: int = 0) -> int:
        """Of one forward pass; as ``Block.flops``."""
        return sum(block.flops(queries, memory) for block in self)
