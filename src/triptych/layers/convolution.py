"""Gated convolutions, and the encoder that is made of them (Gehring et al. 2017).

B sentences of S or T positions, E features of an embedding (the paper's f), D of a layer (d), K positions under a
kernel (k).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from triptych.contract.flat_config import flat_config
from triptych.errors import UserError, require_at_least, require_one_of, require_probability
from triptych.kernels.dropout import Dropout
from triptych.kernels.packed_linear import Linear
from triptych.layers.encoder_decoder import Encoder, Memory
from triptych.layers.positions import Positions
from triptych.layers.sequence_layout import SequenceLayout
from triptych.ranges import Layers, Probability, Size

EMBEDDING_STD = 0.1
"""Standard deviation of embeddings and of positions at the beginning (section 3.5)."""


@dataclass(frozen=True, kw_only=True)
class ConvolutionConfig:
    """What a convolutional encoder and decoder share; the field names are the configuration's keys.

    Attributes:
        embedding_size: E, features of an embedded token, of a position, and of what attention compares.
        hidden_size: D, features of every layer.
        kernel_size: K, positions that one convolution sees.
        positions: ``learned``, or ``none`` (table 4 of the paper).
        max_length: rows of each table of positions.
        dropout: on embeddings, the input of each convolution, and the decoder's output (section 4.2).

    Raises:
        UserError: a value that is not allowed.
    """

    embedding_size: Size
    hidden_size: Size
    kernel_size: Size
    positions: str
    max_length: Size
    dropout: Probability

    def __post_init__(self) -> None:
        require_one_of(("learned", "none"), "model", positions=self.positions)
        require_at_least(1, "model", embedding_size=self.embedding_size, hidden_size=self.hidden_size)
        require_at_least(1, "model", kernel_size=self.kernel_size, max_length=self.max_length)
        require_probability("model", dropout=self.dropout)


def linear(inputs: int, outputs: int, *, dropout: float = 0.0, gain: float = 1.0) -> nn.Linear:
    """Return a linear map whose outputs have ``gain`` times the variance of its inputs (section 3.5).

    Weights are drawn from N(0, sqrt(gain * p / n)): n inputs, each of which dropout keeps with probability p. The bias
    is zero.
    """
    layer = Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=math.sqrt(gain * (1 - dropout) / inputs))
    nn.init.zeros_(layer.bias)
    return layer


def linear_flops(module: nn.Module, rows: int) -> int:
    """Count those of all linear maps inside a module, each run over so many rows."""
    return 2 * rows * sum(layer.weight.numel() for layer in module.modules() if isinstance(layer, nn.Linear))


def add(x: Tensor, y: Tensor) -> Tensor:
    """(x + y) sqrt(0.5): the sum has the variance of x and y if theirs are equal (section 3.4)."""
    return (x + y) * math.sqrt(0.5)


class PositionedEmbedding(nn.Module):
    """e_j = dropout(w_j + p_j): a token's embedding, and that of its position (section 3.1)."""

    def __init__(self, config: ConvolutionConfig) -> None:
        super().__init__()
        size = config.embedding_size
        self.positions = Positions(kind=config.positions, d_model=size, max_length=config.max_length)
        if self.positions.table is not None:
            nn.init.normal_(self.positions.table.weight, std=EMBEDDING_STD)
        self.dropout = Dropout(config.dropout)

    def forward(self, embedded: Tensor, positions: Tensor) -> Tensor:
        """Add positions (B or 1, T) to embedded tokens (B, T, E), whose variance at the beginning is 1."""
        return self.dropout(self.positions(embedded * EMBEDDING_STD, positions))

    @property
    def num_parameters(self) -> int:
        """Number of parameters of the table of positions; most of its rows may never be used."""
        return sum(parameter.numel() for parameter in self.parameters())


class GatedConvolution(nn.Module):
    """v(W [h_{i-k/2}, …, h_{i+k/2}] + b) with v([A B]) = A * sigmoid(B) (section 3.2; Dauphin et al. 2017).

    W has the shape (2D, K * D), as in the paper: every window of K positions is one row of a matrix product.
    """

    def __init__(self, config: ConvolutionConfig) -> None:
        super().__init__()
        size, self.width = config.hidden_size, config.kernel_size
        # The gate makes about a quarter of the variance of what it is given (section 3.5).
        self.kernel = linear(self.width * size, 2 * size, dropout=config.dropout, gain=4)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Slide over x (B, T + K - 1, D): (B, T, D). The caller decides how many positions stand on either side."""
        x, steps = self.dropout(x), x.shape[1] - self.width + 1
        windows = torch.cat([x[:, i : i + steps] for i in range(self.width)], dim=-1)
        return F.glu(self.kernel(windows), dim=-1)


class ConvolutionalEncoder(Encoder):
    """Convolutions that see as many positions before a token as after it. What is beyond a sentence is zero.

        e_j = w_j + p_j                                                      section 3.1
        z_j^0 = W_in e_j + b_in                                              section 3.2
        z_j^l = (v(W^l [z_{j-k/2}^{l-1}, …] + b^l) + z_j^{l-1}) sqrt(0.5)    sections 3.2 and 3.4
        z_j = W_out z_j^u + b_out                                            section 3.2

    The memory has z_j as ``vectors`` and e_j as ``embedded``, both of E features.

    Args:
        config: what encoder and decoder share.
        num_layers: number of convolutions.

    Raises:
        UserError: a value that is not allowed, or an even kernel, which has no centre.
    """

    sizes = (("num_layers",), ("hidden_size",))

    @flat_config
    def __init__(self, config: ConvolutionConfig, *, num_layers: Layers) -> None:
        super().__init__()
        require_at_least(1, "model", num_layers=num_layers)
        if config.kernel_size % 2 == 0:
            raise UserError(
                f"model.kernel_size={config.kernel_size} is even, and an encoder's kernel needs a centre; choose an "
                "odd number."
            )
        self.embedding_size = self.memory_size = config.embedding_size
        self.embed = PositionedEmbedding(config)
        self.input = linear(config.embedding_size, config.hidden_size, dropout=config.dropout)
        self.layers = nn.ModuleList(GatedConvolution(config) for _ in range(num_layers))
        self.output = linear(config.hidden_size, config.embedding_size)
        self.reach = config.kernel_size // 2

    def forward(self, embedded: Tensor, layout: SequenceLayout) -> Memory:
        e = self.embed(embedded, torch.arange(embedded.shape[1], device=embedded.device).unsqueeze(0))
        padding = ~layout.is_token.unsqueeze(-1)
        z = self.input(e)
        for convolution in self.layers:
            z = z.masked_fill(padding, 0)  # else the last tokens of a sentence would see its padding
            z = add(convolution(F.pad(z, (0, 0, self.reach, self.reach))), z)
        return Memory(self.output(z), layout, embedded=e)

    def flops(self, src_length: int) -> int:
        return linear_flops(self, src_length)

    @property
    def embedding_parameters(self) -> int:
        return self.embed.num_parameters

    def check_length(self, length: int) -> None:
        self.embed.positions.check_length(length)

    def stacked_layers(self) -> list[nn.Module]:
        return [*self.layers]
