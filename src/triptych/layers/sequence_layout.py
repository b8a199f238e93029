"""How the tokens of a batch of sequences lie in memory, and what attention must know of them.

B sequences, padded to T positions each, with N tokens in all. A Transformer runs over the packed tokens of all
sequences, without padding, except in attention. R rows hold them: the N tokens first, then some positions of padding
that fill R up to a multiple of ``ROWS``, where there is enough padding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from triptych.contract.vocabulary import PAD
from triptych.kernels.rows import COLUMNS, ROWS, gather_rows, scatter_rows

Rope = tuple[Tensor, Tensor]
"""Cosines and sines of rotary positions, each (B or 1, 1, T, d_k / 2)."""


@dataclass(frozen=True)
class SequenceLayout:
    """How a batch of sequences lies in memory, and what attention may see; passed beside the embedded tokens.

    Attributes:
        size: B and T.
        rows: (R,) index of each row in the flattened (B * T), tokens first; None where every position has its row.
        filling: R - N, rows of padding at the end.
        lengths: (B,) tokens of each sequence.
        host_lengths: (B,) the same in the CPU's memory, where reading them waits for no device.
        mask: broadcastable to (B, 1, T, keys), True where a query may look at a key; None for everywhere.
        is_causal: whether a query sees only its own position and those before (then ``mask`` is None).
        rope: rotations of queries and keys by their positions, if any.
    """

    size: tuple[int, int]
    rows: Tensor | None = None
    filling: int = 0
    lengths: Tensor | None = None
    host_lengths: NDArray[np.int64] | None = None
    mask: Tensor | None = None
    is_causal: bool = False
    rope: Rope | None = None

    @classmethod
    def from_lengths(cls, lengths: Tensor, host_lengths: NDArray[np.int64], width: int) -> SequenceLayout:
        """Lay out sequences of lengths (B,), which the CPU knows as well, that are padded to ``width``."""
        size, positions, count = (len(lengths), width), len(lengths) * width, int(host_lengths.sum())
        if count == positions:
            return cls(size, lengths=lengths, host_lengths=host_lengths)
        is_token = token_mask(lengths, width)
        filling = min(-count % ROWS, positions - count)
        rows = torch.cat([indices_where(is_token, count), indices_where(~is_token, filling)])
        return cls(size, rows, filling, lengths, host_lengths)

    def unpad(self, x: Tensor) -> Tensor:
        """Pack the positions of x (B, T, …): (R, …)."""
        x = x.flatten(0, 1)
        return x if self.rows is None else gather_rows(x, self.rows)

    def without_filling(self, x: Tensor) -> Tensor:
        """Return the N tokens (N, …) of rows x (R, …)."""
        return x[: len(x) - self.filling]

    def select_tokens(self, x: Tensor) -> Tensor:
        """Return the N tokens (N, …) of positions x (B, T, …), by sequence, then by position."""
        return self.without_filling(self.unpad(x))

    def pad(self, x: Tensor) -> Tensor:
        """Put rows x (R, …) back in their positions (B, T, …), zero on padding that has no row."""
        if self.rows is not None:
            x = scatter_rows(x, self.rows, self.size[0] * self.size[1])
        return x.unflatten(0, self.size)

    @property
    def is_token(self) -> Tensor:
        """(B, T), True where a position is no padding."""
        assert self.lengths is not None
        return token_mask(self.lengths, self.size[1])

    def bidirectional(self) -> SequenceLayout:
        """Let every position see all tokens of its sequence."""
        return replace(self, mask=self.is_token[:, None, None], is_causal=False)

    def causal(self) -> SequenceLayout:
        """Let every position see itself and the positions before it."""
        return replace(self, mask=None, is_causal=True)


def token_mask(lengths: Tensor, width: int) -> Tensor:
    """Return (B, T), True where sequences of lengths (B,), padded to ``width``, have a token."""
    return torch.arange(width, device=lengths.device) < lengths[:, None]


def wide(width: int) -> int:
    """Return the next multiple of ``COLUMNS``."""
    return width + -width % COLUMNS


def pad_to(ids: Tensor, width: int) -> Tensor:
    """Pad ids (B, T) to (B, width)."""
    return F.pad(ids, (0, width - ids.shape[1]), value=PAD)


def widen(ids: Tensor) -> Tensor:
    """Pad ids (B, T) to a multiple of ``COLUMNS``."""
    return pad_to(ids, wide(ids.shape[1]))


def indices_where(mask: Tensor, count: int) -> Tensor:
    """Return the indices (count,) at which the flattened mask is True. Knowing the count, it waits for no device."""
    return torch.nonzero_static(mask.flatten(), size=count).squeeze(1)
