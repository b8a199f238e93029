"""Where a token stands: sinusoids, learned vectors, rotations, or nothing."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from triptych.errors import UserError, require_at_least, require_one_of

KINDS = ("sinusoidal", "sinusoidal_concatenated", "learned", "rope", "none")


def sinusoid(positions: Tensor, size: int, interleaved: bool) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(same) (Vaswani et al. 2017, section 3.5).

    Args:
        positions: any shape (…,).
        size: d, even.
        interleaved: sines and cosines alternate (the formula); otherwise all sines come first.

    Returns:
        (…, d) float32.
    """
    frequencies = torch.exp(torch.arange(0, size, 2, device=positions.device) * (-math.log(10_000.0) / size))
    angles = positions.unsqueeze(-1).float() * frequencies
    if interleaved:
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class Positions(nn.Module):
    """The vector that is added to a token's embedding.

    Raises:
        UserError: unknown kind, an odd size for sinusoids, or an empty table.
    """

    def __init__(self, *, kind: str, d_model: int, max_length: int) -> None:
        super().__init__()
        require_one_of(KINDS, "model", positions=kind)
        require_at_least(1, "model", max_length=max_length)
        if kind.startswith("sinusoidal") and d_model % 2:
            raise UserError(f"model.d_model={d_model} is odd; model.positions={kind} needs an even number.")
        self.kind = kind
        self.d_model = d_model
        self.table = nn.Embedding(max_length, d_model) if kind == "learned" else None
        if self.table is not None:
            nn.init.normal_(self.table.weight, std=0.02)

    def forward(self, embedded: Tensor, positions: Tensor) -> Tensor:
        """Adds the vectors of positions (B or 1, T), checked where there is no padding, to embedded (B, T, d_model)."""
        if self.table is not None:
            return embedded + self.table(positions.clamp(max=self.table.num_embeddings - 1))
        if self.kind.startswith("sinusoidal"):
            return embedded + sinusoid(positions, self.d_model, self.kind == "sinusoidal").to(embedded.dtype)
        return embedded

    def check(self, positions: Tensor) -> None:
        """As ``check_length``, of the furthest of positions (any shape); with a table, this waits for the device."""
        if self.table is not None:
            self.check_length(int(positions.max()) + 1)

    def check_length(self, length: int) -> None:
        """Raises ``UserError`` where a learned table has fewer than ``length`` positions."""
        if self.table is not None and length > self.table.num_embeddings:
            raise UserError(
                f"model.max_length={self.table.num_embeddings} holds too few learned positions for a sequence of "
                f"{length} pieces; raise it, or choose other model.positions."
            )


Rotary = tuple[Tensor, Tensor]
"""Cosines and sines, each (B or 1, 1, T, d_k / 2)."""


def rotary(positions: Tensor, d_k: int) -> Rotary:
    """The rotations of positions (B or 1, T) for heads of size d_k (Su et al. 2021, equation 34)."""
    frequencies = torch.exp(torch.arange(0, d_k, 2, device=positions.device) * (-math.log(10_000.0) / d_k))
    angles = positions[:, None, :, None].float() * frequencies
    return angles.cos(), angles.sin()


def rotate(x: Tensor, by: Rotary) -> Tensor:
    """Turns each pair (x_i, x_{i + d_k/2}) of x (B, H, T, d_k) by its position's angle."""
    cos, sin = (part.to(x.dtype) for part in by)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)
