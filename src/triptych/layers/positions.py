"""What tells a token's position: sinusoids, learned vectors, rotations, or nothing."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from triptych.errors import UserError, require_at_least, require_one_of

POSITIONS = ("sinusoidal", "sinusoidal_concatenated", "learned", "rope", "none")


def sinusoid(positions: Tensor, size: int, interleaved: bool) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(same) (Vaswani et al. 2017, section 3.5).

    Args:
        positions: any shape (…,).
        size: d, even.
        interleaved: sines and cosines alternate (the formula); otherwise all sines come first, as in tensor2tensor.

    Returns:
        (…, d) float32.
    """
    frequencies = torch.exp(torch.arange(0, size, 2, device=positions.device) * (-math.log(10_000.0) / size))
    angles = positions.unsqueeze(-1).float() * frequencies
    if interleaved:
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class Positions(nn.Module):
    """The vector that is added to a token's embedding (Vaswani et al. 2017, section 3.5; learned: table 3, row E).

    Raises:
        UserError: unknown kind, an odd size for sinusoids, or an empty table.
    """

    def __init__(self, *, kind: str, d_model: int, max_length: int) -> None:
        super().__init__()
        require_one_of(POSITIONS, "model", positions=kind)
        require_at_least(1, "model", max_length=max_length)
        if kind.startswith("sinusoidal") and d_model % 2:
            raise UserError(f"model.d_model={d_model} is odd; model.positions={kind} needs an even number.")
        self.kind = kind
        self.d_model = d_model
        self.table = nn.Embedding(max_length, d_model) if kind == "learned" else None
        if self.table is not None:
            nn.init.normal_(self.table.weight, std=0.02)

    def forward(self, embedded: Tensor, positions: Tensor) -> Tensor:
        """Add the vectors of positions (B or 1, T) to embedded (B, T, d_model). Padding may stand beyond the table."""
        if self.table is not None:
            return embedded + self.table(positions.clamp(max=self.table.num_embeddings - 1))
        if self.kind.startswith("sinusoidal"):
            return embedded + sinusoid(positions, self.d_model, self.kind == "sinusoidal").to(embedded.dtype)
        return embedded

    def check(self, positions: Tensor) -> None:
        """Check the largest of positions (any shape) as ``check_length`` does; a table waits for the device."""
        if self.table is not None:
            self.check_length(int(positions.max()) + 1)

    def check_length(self, length: int) -> None:
        """Raise ``UserError`` if a learned table has fewer than ``length`` positions."""
        if self.table is not None and length > self.table.num_embeddings:
            raise UserError(
                f"model.max_length={self.table.num_embeddings} holds too few learned positions for a sequence of "
                f"{length} pieces; raise it, or choose other model.positions."
            )


def rotations(positions: Tensor, d_k: int) -> tuple[Tensor, Tensor]:
    """Return the rotary embedding of positions (B or 1, T) for heads of size d_k (Su et al. 2021, equation 34).

    The paper turns neighbours (x_1, x_2); ``rotate`` pairs x_i with x_{i + d_k/2}, which only renumbers the features.

    Returns:
        Cosines and sines, each (B or 1, 1, T, d_k / 2).
    """
    frequencies = torch.exp(torch.arange(0, d_k, 2, device=positions.device) * (-math.log(10_000.0) / d_k))
    angles = positions[:, None, :, None].float() * frequencies
    return angles.cos(), angles.sin()


def rotate(x: Tensor, rope: tuple[Tensor, Tensor]) -> Tensor:
    """Turn each pair (x_i, x_{i + d_k/2}) of x (B, H, T, d_k) by its position's angle in rope.

    Computed in single precision at least: in bfloat16 the error would be 1.6 times as large (root mean square).
    """
    cos, sin = rope
    first, second = x.to(torch.promote_types(x.dtype, cos.dtype)).chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1).to(x.dtype)
