"""Keys and values of decoding: one cache per sentence, shared by all its hypotheses.

Every step adds the newest token of each hypothesis as one more position. A hypothesis' row of ``visible`` says which
positions are its own past: reordering hypotheses reorders these rows, and no key is ever moved.

A sentences, W hypotheses of each, H heads, L positions taken so far.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from triptych.contract.decoder_state import DecoderState


class KVCache:
    """The keys and values of one layer, with room for more, which is doubled when it is used up.

    Attributes:
        key: (A, H, room, d_k). The first L positions are in use. None before the first.
        value: (A, H, room, d_v), likewise.
        length: L.
    """

    def __init__(self, key: Tensor | None = None, value: Tensor | None = None, length: int = 0) -> None:
        self.key, self.value, self.length = key, value, length

    @classmethod
    def load(cls, state: DecoderState, layer: int) -> KVCache:
        """Return the cache of a layer that a state carries."""
        taken = state.hypothesis["visible"].shape[1]
        return cls(state.sentence.get(f"key.{layer}"), state.sentence.get(f"value.{layer}"), taken)

    def tensors(self, layer: int) -> dict[str, Tensor]:
        """Return the tensors by the names that ``load`` finds them under."""
        assert self.key is not None
        assert self.value is not None
        return {f"key.{layer}": self.key, f"value.{layer}": self.value}

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add W positions, (A, H, W, d_k) and (A, H, W, d_v), in place; return all positions (A, H, L + W, …)."""
        taken, self.length = self.length, self.length + key.shape[2]
        if self.key is None or self.value is None:
            self.key, self.value = key, value
            return key, value
        if self.length > self.key.shape[2]:
            room = max(32, 2 * self.length)
            self.key, self.value = (F.pad(old, (0, 0, 0, room - old.shape[2])) for old in (self.key, self.value))
        self.key[:, :, taken : self.length] = key
        self.value[:, :, taken : self.length] = value
        return self.key[:, :, : self.length], self.value[:, :, : self.length]


def see_newest(visible: Tensor, width: int) -> Tensor:
    """Add W positions to what hypotheses see, (A * W, L): the newest token of each, visible to itself alone.

    Returns:
        (A * W, L + W).
    """
    newest = torch.eye(width, dtype=torch.bool, device=visible.device)
    return torch.cat([visible, newest.repeat(len(visible) // width, 1)], dim=1)
