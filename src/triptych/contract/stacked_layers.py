"""Modules that are made of a stack of layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn


class LayeredModule(nn.Module):
    """A module whose layers are compiled, or sharded over devices, one by one."""

    def stacked_layers(self) -> Sequence[nn.Module]:
        """Return the layers, which training calls one after the other by ``forward`` alone; by default, none."""
        return []

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile each layer by ``torch.compile`` with these arguments. Layers that are alike compile once."""
        for layer in self.stacked_layers():
            layer.compile(*args, **kwargs)
