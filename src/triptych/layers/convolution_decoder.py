"""The convolutional decoder, each of whose layers attends to the source (Gehring et al. 2017, sections 3.2 and 3.3).

B sentences, S source and T target positions, E features of an embedding (the paper's f), D of a layer (d), K positions
under a kernel (k), L layers, M features of a memory; in decoding, W hypotheses of each of A sentences.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from triptych.contract.decoder_state import DecoderState
from triptych.contract.flat_config import flat_config
from triptych.errors import require_at_least
from triptych.kernels.dropout import Dropout
from triptych.layers.ablation import mask_heads
from triptych.layers.convolution import (
    ConvolutionConfig,
    GatedConvolution,
    PositionedEmbedding,
    add,
    linear,
    linear_flops,
)
from triptych.layers.encoder_decoder import Encoder, Memory, StepwiseDecoder
from triptych.layers.recording import RecordableAttention
from triptych.ranges import Layers


class AttendedSource(NamedTuple):
    """What the attention of every layer needs of the sources.

    Attributes:
        keys: (B, S, E) z_j.
        values: (B, S, E) z_j + e_j.
        mask: (B, 1, S), True where the source is no padding.
        scale: (B, 1, 1) m sqrt(1/m) for a source of m tokens.
    """

    keys: Tensor
    values: Tensor
    mask: Tensor
    scale: Tensor


class StepAttention(RecordableAttention):
    """The attention of one layer, one step of the paper's multi-step attention (section 3.3).

        d_i = W_d h_i + b_d + g_i                             equation 1
        a_ij = exp(d_i . z_j) / sum_t exp(d_i . z_t)
        c_i = m sqrt(1/m) sum_j a_ij (z_j + e_j)              equation 2, scaled as in section 3.4

    A linear map brings c_i from E features to the D of h_i, which it is added to. The authors' program (fairseq) has
    this map; the paper does not mention it.
    """

    def __init__(self, config: ConvolutionConfig) -> None:
        super().__init__("cross")
        size, embedding_size = config.hidden_size, config.embedding_size
        self.query = linear(size, embedding_size)  # W_d, b_d
        self.context = linear(embedding_size, size)

    def forward(self, h: Tensor, g: Tensor, source: AttendedSource) -> Tensor:
        """Attend from states h (B, T, D) and embedded targets g (B, T, E): contexts (B, T, D)."""
        d = self.query(h) + g
        together = d.reshape(len(source.keys), -1, d.shape[2])  # (A * W, T, E) -> (A, W * T, E)
        scores = together @ source.keys.transpose(1, 2)
        weights = scores.masked_fill(~source.mask, float("-inf")).softmax(dim=-1)
        self.record(weights.view(*d.shape[:2], -1).unsqueeze(1))
        c = weights.to(source.values.dtype) @ source.values * source.scale
        return self.context(mask_heads(self, c).view(d.shape))


class DecoderLayer(nn.Module):
    """One convolution over a position and those before it, and its attention. Sums are scaled as in section 3.4.

    h_i = (v(W [x_{i-k+1}, …, x_i] + b) + x_i) sqrt(0.5)
    x'_i = (h_i + c_i) sqrt(0.5)
    """

    def __init__(self, config: ConvolutionConfig) -> None:
        super().__init__()
        self.convolution = GatedConvolution(config)
        self.attention = StepAttention(config)

    def forward(self, x: Tensor, before: Tensor, g: Tensor, source: AttendedSource) -> tuple[Tensor, Tensor]:
        """Run some positions.

        Args:
            x: (B, T, D) the layer's inputs.
            before: (B, K - 1, D) its inputs at the positions before; zero before the first.
            g: (B, T, E) embedded targets.
            source: what attention needs of it.

        Returns:
            Outputs (B, T, D), and the last inputs (B, K - 1, D), which the positions that follow need.
        """
        seen = torch.cat([before, x], dim=1)
        h = add(self.convolution(seen), x)
        return add(h, self.attention(h, g, source)), seen[:, x.shape[1] :]


class ConvolutionalDecoder(StepwiseDecoder):
    """Layers of convolution and attention over the targets, and the hidden vectors, W_out h_i^L + b_out.

    The softmax has no bias of its own, unlike the paper's b_o.

    Args:
        config: what encoder and decoder share.
        num_layers: L.
        encoder: that it decodes from. A memory of other than E features is projected. Only a memory with ``embedded``
            has e_j in equation 2.

    Raises:
        UserError: a value that is not allowed.
    """

    sizes = (("num_layers",), ("hidden_size",))

    @flat_config
    def __init__(self, config: ConvolutionConfig, *, num_layers: Layers, encoder: Encoder) -> None:
        super().__init__()
        require_at_least(1, "model", num_layers=num_layers)
        self.embedding_size, self.hidden_size = config.embedding_size, config.hidden_size
        self.kernel_size = config.kernel_size
        self.memory_projection: nn.Linear | None = None
        if encoder.memory_size != self.embedding_size:
            self.memory_projection = linear(encoder.memory_size, self.embedding_size)
        self.embed = PositionedEmbedding(config)
        self.input = linear(self.embedding_size, self.hidden_size, dropout=config.dropout)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(num_layers))
        self.output = linear(self.hidden_size, self.embedding_size)
        self.dropout = Dropout(config.dropout)

    def start(self, memory: Memory) -> DecoderState:
        """Return the state before the first step.

        Per sentence: the fields of ``AttendedSource``, and ``position`` (B,). Per hypothesis: ``before.i``
        (B, K - 1, D), the last inputs of layer i.
        """
        mask, vectors = memory.layout.is_token, memory.padded()
        if self.memory_projection is not None:
            vectors = self.memory_projection(vectors)
        keys = scale_gradient(vectors, 1 / len(self.layers))
        values = keys if memory.embedded is None else keys + memory.embedded
        scale = mask.sum(1).to(keys.dtype).sqrt()[:, None, None]
        source = AttendedSource(keys, values, mask.unsqueeze(1), scale)
        zeros = keys.new_zeros(len(mask), self.kernel_size - 1, self.hidden_size)
        position = mask.new_zeros(len(mask), dtype=torch.long)
        before = {f"before.{i}": zeros for i in range(len(self.layers))}
        return DecoderState({**source._asdict(), "position": position}, before)

    def step(self, embedded: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        self.embed.positions.check(state.sentence["position"])
        return super().step(embedded, state)

    def run(self, embedded: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Run some steps, one or all, from embedded tokens (A * W, T, E): hidden vectors of that shape, and the new
        state."""
        (count, steps), position = embedded.shape[:2], state.sentence["position"]
        source = AttendedSource(*(state.sentence[name] for name in AttendedSource._fields))
        first = position.repeat_interleave(count // len(position)).unsqueeze(1)
        g = self.embed(embedded, first + torch.arange(steps, device=embedded.device))
        x, before = self.input(g), {}
        for i, layer in enumerate(self.layers):
            x, before[f"before.{i}"] = layer(x, state.hypothesis[f"before.{i}"], g, source)
        return self.dropout(self.output(x)), DecoderState({**state.sentence, "position": position + steps}, before)

    def flops(self, src_length: int, steps: int) -> int:
        total = linear_flops(self, steps) + len(self.layers) * 4 * steps * src_length * self.embedding_size
        if self.memory_projection is not None:
            total += linear_flops(self.memory_projection, src_length) - linear_flops(self.memory_projection, steps)
        return total

    @property
    def embedding_parameters(self) -> int:
        return self.embed.num_parameters

    def check_length(self, length: int) -> None:
        self.embed.positions.check_length(length)

    def stacked_layers(self) -> list[nn.Module]:
        return [*self.layers]


def scale_gradient(x: Tensor, factor: float) -> Tensor:
    """Return x, with a gradient that is multiplied by a factor.

    Every layer's attention sends a gradient to the encoder, so their sum is divided by the number of layers; that of
    the embeddings e_j is not (section 3.4).
    """
    return x.detach() + (x - x.detach()) * factor
