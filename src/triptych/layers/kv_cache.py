"""Keys and values of decoding: one cache per sentence, shared by all its hypotheses.

Every step adds the newest token of each hypothesis as one more position. A hypothesis' row of ``visible`` says which
positions are its own past: reordering hypotheses reorders these rows, and moves no key.

A sentences, W hypotheses of each, H heads, L positions taken so far.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from triptych.contract.decoder_state import DecoderState

STEPS = 4
"""Steps that a cache gets room for, at least. Of 2, 4 and 8, 4 was the fastest with four hypotheses on a CPU."""


class KVCache:
    """The keys and values of one layer, with room for more.

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
        """Add W positions, (A, H, W, d_k) and (A, H, W, d_v); return all positions (A, H, L + W, …).

        They are written in place, unless they are the first ones. There must be room, see ``make_room``.
        """
        taken, self.length = self.length, self.length + key.shape[2]
        if self.key is None or self.value is None:
            self.key, self.value = key, value
            return key, value
        self.key[:, :, taken : self.length] = key
        self.value[:, :, taken : self.length] = value
        return self.key[:, :, : self.length], self.value[:, :, : self.length]

    def has_room(self, width: int) -> bool:
        """Return whether W more positions can be added."""
        return self.key is None or self.key.shape[2] >= self.length + width

    def grow(self, room: int) -> None:
        """Make room for so many more positions."""
        assert self.key is not None
        assert self.value is not None
        self.key, self.value = (
            F.pad(tensor[:, :, : self.length], (0, 0, 0, room)) for tensor in (self.key, self.value)
        )

    def keep(self, positions: Tensor) -> None:
        """Keep some positions of each sentence, (A, L')."""
        assert self.key is not None
        assert self.value is not None
        self.key, self.value = (_select(tensor, positions) for tensor in (self.key, self.value))
        self.length = positions.shape[1]


def _select(tensor: Tensor, positions: Tensor) -> Tensor:
    """Return some positions (A, L') of a tensor (A, H, L or more, d): (A, H, L', d)."""
    sentences = torch.arange(len(positions), device=positions.device)[:, None]
    return tensor.transpose(1, 2)[sentences, positions].transpose(1, 2)


def make_room(kv_caches: Sequence[KVCache], visible: Tensor, width: int) -> Tensor:
    """Make room for W more positions, if there is none.

    On a CPU, positions that no hypothesis sees any more are dropped then: most hypotheses of some steps ago have no
    successors. A GPU would have to wait until it is known how many positions are left.

    Args:
        kv_caches: of all layers, changed in place.
        visible: what hypotheses see, (A * W, L).

    Returns:
        What they see of the positions that are left, (A * W, L').
    """
    if all(kv_cache.has_room(width) for kv_cache in kv_caches):
        return visible
    room = max(32, visible.shape[1])
    if width > 1 and visible.is_cpu:
        seen = visible.view(-1, width, visible.shape[1]).any(dim=1)  # (A, L), by any hypothesis of the sentence
        positions = seen.int().argsort(dim=1, descending=True, stable=True)[:, : int(seen.sum(dim=1).max())]
        for kv_cache in kv_caches:
            kv_cache.keep(positions)
        visible = visible.gather(1, positions.repeat_interleave(width, dim=0))
        room = max(STEPS * width, visible.shape[1] // 4)  # the longer the cache, the more it costs to copy it
    for kv_cache in kv_caches:
        kv_cache.grow(room)
    return visible


def see_newest(visible: Tensor, width: int) -> Tensor:
    """Add W positions to what hypotheses see, (A * W, L): the newest token of each, visible to itself alone.

    Returns:
        (A * W, L + W).
    """
    newest = torch.eye(width, dtype=torch.bool, device=visible.device)
    return torch.cat([visible, newest.repeat(len(visible) // width, 1)], dim=1)
